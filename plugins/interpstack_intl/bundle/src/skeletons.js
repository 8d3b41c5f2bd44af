// The fields of a skeleton as formatjs reads them, without the rest of its parsing. The build compares the two for
// every skeleton that there is.
const TEXT = [undefined, undefined, "short", "long", "narrow", "short"];
const NUMBER = ["numeric", "2-digit"];
const byLength = (length) => length === 4 ? "long" : length === 5 ? "narrow" : "short";
const READ = {
  G: (to, length) => { to.era = byLength(length); },
  y: (to, length) => { to.year = length === 2 ? "2-digit" : "numeric"; },
  U: (to) => { to.year = "numeric"; },
  M: (to, length) => { to.month = ["numeric", "2-digit", "short", "long", "narrow"][length - 1]; },
  d: (to, length) => { to.day = NUMBER[length - 1]; },
  D: (to) => { to.day = "numeric"; },
  E: (to, length) => { to.weekday = byLength(length); },
  e: (to, length) => { to.weekday = TEXT[length - 1]; },
  a: (to) => { to.hour12 = true; },
  B: (to, length) => { to.dayPeriod = byLength(length); },
  h: (to, length) => { to.hour = NUMBER[length - 1]; to.hour12 = true; },
  H: (to, length) => { to.hour = NUMBER[length - 1]; },
  m: (to, length) => { to.minute = NUMBER[length - 1]; },
  s: (to, length) => { to.second = NUMBER[length - 1]; },
  S: (to) => { to.second = "numeric"; },
  z: (to, length) => { to.timeZoneName = length < 4 ? "short" : "long"; },
};
const SAME = { Y: "y", u: "y", r: "U", L: "M", F: "D", g: "D", c: "e", b: "a", K: "h", k: "H", A: "S", Z: "z", O: "z", v: "z", V: "z", X: "z", x: "z" };
for (const letter of Object.keys(SAME)) READ[letter] = READ[SAME[letter]];

export function readFields(skeleton, to) {
  for (let at = 0; at < skeleton.length;) {
    const letter = skeleton[at];
    if (letter === "'") {
      const end = skeleton.indexOf("'", at + 1);
      at = end < 0 ? skeleton.length : end + 1;
      continue;
    }
    let end = at + 1;
    while (end < skeleton.length && skeleton[end] === letter) end++;
    const read = READ[letter];
    if (read !== undefined) read(to, end - at);
    at = end;
  }
  return to;
}
