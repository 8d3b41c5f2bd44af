// atob and btoa, for engines that lack them.
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

const required = (count, name) => {
  if (count < 1) throw new TypeError(`${name}: 1 argument required`);
};

export const atob = DOMException =>
  function atob(data) {
    required(arguments.length, "atob");
    let text = `${data}`.replace(/[\t\n\f\r ]/g, "");
    if (text.length % 4 === 0) text = text.replace(/==?$/, "");
    if (text.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(text)) {
      throw new DOMException("The string to be decoded is not correctly encoded", "InvalidCharacterError");
    }
    let out = "";
    let bits = 0;
    let count = 0;
    for (let i = 0; i < text.length; i++) {
      bits = ((bits << 6) | alphabet.indexOf(text[i])) & 0xffff;
      count += 6;
      if (count >= 8) {
        count -= 8;
        out += String.fromCharCode((bits >> count) & 255);
      }
    }
    return out;
  };

export const btoa = DOMException =>
  function btoa(data) {
    required(arguments.length, "btoa");
    const text = `${data}`;
    let out = "";
    for (let i = 0; i < text.length; i += 3) {
      const a = text.charCodeAt(i);
      const b = i + 1 < text.length ? text.charCodeAt(i + 1) : 0;
      const c = i + 2 < text.length ? text.charCodeAt(i + 2) : 0;
      if (a > 255 || b > 255 || c > 255) {
        throw new DOMException("The string contains characters outside of Latin1", "InvalidCharacterError");
      }
      const word = (a << 16) | (b << 8) | c;
      out += alphabet[word >> 18] + alphabet[(word >> 12) & 63];
      out += i + 1 < text.length ? alphabet[(word >> 6) & 63] : "=";
      out += i + 2 < text.length ? alphabet[word & 63] : "=";
    }
    return out;
  };
