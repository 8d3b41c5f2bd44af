// Domain to ASCII (UTS #46, non-transitional, as the URL standard uses it) without tr46's 240 KB of tables:
// the mapping is derived from the engine's own normalization, case conversion and character properties.
// Compared over all code points with tr46's table it is the same, given the same Unicode version.
// Left out: the Bidi rule (CheckBidi) and the joining-type part of CheckJoiners.
import { decode, encode } from "punycode/punycode.es6.js";

let sets;

// Made on first use: property classes compile to large tables.
function loadSets() {
  const make = source => new RegExp(source, "u");
  sets = {
    ignored: make(
      "[\\u00AD\\u034F\\u115F\\u1160\\u17B4\\u17B5\\u180B-\\u180F\\u200B\\u2060-\\u2064\\u206A-\\u206F\\u3164" +
        "\\uFE00-\\uFE0F\\uFEFF\\uFFA0\\u{1BCA0}-\\u{1BCA3}\\u{1D173}-\\u{1D17A}\\u{E0100}-\\u{E01EF}]",
    ),
    deviation: make("[\\u00DF\\u03C2\\u200C\\u200D]"),
    disallowed: make(
      "[\\p{Cn}\\p{Cs}\\p{Co}\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\u1680\\u2FF0-\\u2FFF\\u31EF\\uFFFC\\uFFFD]",
    ),
    cherokee: make("[\\u13A0-\\u13FD\\uAB70-\\uABBF]"),
    mark: make("\\p{M}"),
    // Canonical combining class Virama.
    virama: make(
      "[\\u094D\\u09CD\\u0A4D\\u0ACD\\u0B4D\\u0BCD\\u0C4D\\u0CCD\\u0D3B\\u0D3C\\u0D4D\\u0DCA\\u0E3A\\u0EBA\\u0F84" +
        "\\u1039\\u103A\\u1714\\u1715\\u1734\\u17D2\\u1A60\\u1B44\\u1BAA\\u1BAB\\u1BF2\\u1BF3\\u2D7F\\uA806\\uA82C" +
        "\\uA8C4\\uA953\\uA9C0\\uAAF6\\uABED\\u{10A3F}\\u{11046}\\u{11070}\\u{1107F}\\u{110B9}\\u{11133}\\u{11134}" +
        "\\u{111C0}\\u{11235}\\u{112EA}\\u{1134D}\\u{113CE}-\\u{113D0}\\u{11442}\\u{114C2}\\u{115BF}\\u{1163F}" +
        "\\u{116B6}\\u{1172B}\\u{11839}\\u{1193D}\\u{1193E}\\u{119E0}\\u{11A34}\\u{11A47}\\u{11A99}\\u{11C3F}" +
        "\\u{11D44}\\u{11D45}\\u{11D97}\\u{11F41}\\u{11F42}\\u{1612F}]",
    ),
    cursive: make("[\\p{Script=Arabic}\\p{Script=Syriac}\\p{Script=Mongolian}\\p{Script=Nko}\\p{M}]"),
  };
}

// The code point's mapping; null when it is disallowed.
export function mapCodePoint(char) {
  if (!sets) loadSets();
  if (char <= "\x7f") return char.toLowerCase();
  if (sets.deviation.test(char)) return char;
  if (sets.ignored.test(char)) return "";
  if (char === "\u3002" || char === "\uff0e" || char === "\uff61") return ".";
  let mapped;
  if (sets.cherokee.test(char)) {
    mapped = char.toUpperCase();
  } else {
    const plain = char.normalize("NFKC");
    mapped = "";
    for (const part of plain) {
      // Upper-casing first folds what has no single lower case; these two have a fold of their own.
      if (part === "\u0131" || part === "\u1e9e") mapped += part.toLowerCase();
      else mapped += part.toUpperCase().toLowerCase();
    }
    mapped = mapped.normalize("NFKC");
  }
  if (mapped.includes(".") || mapped.includes("\u3002") || sets.disallowed.test(mapped)) return null;
  return mapped;
}

function validJoiners(points) {
  for (let i = 0; i < points.length; i++) {
    const char = points[i];
    if (char !== "\u200c" && char !== "\u200d") continue;
    if (i === 0) return false;
    if (sets.virama.test(points[i - 1])) continue;
    if (char === "\u200d" || i + 1 === points.length) return false;
    if (!sets.cursive.test(points[i - 1]) || !sets.cursive.test(points[i + 1])) return false;
  }
  return true;
}

function validLabel(label) {
  if (label === "") return true;
  if (label.normalize("NFC") !== label || label.startsWith("xn--") || label.includes(".")) return false;
  const points = [...label];
  if (sets.mark.test(points[0])) return false;
  return points.every(char => mapCodePoint(char) === char) && validJoiners(points);
}

export function toASCII(domain) {
  let mapped = "";
  for (const char of domain) {
    const to = mapCodePoint(char);
    if (to === null) return null;
    mapped += to;
  }
  const labels = mapped.normalize("NFC").split(".");
  for (let i = 0; i < labels.length; i++) {
    let label = labels[i];
    if (label.startsWith("xn--")) {
      try {
        label = decode(label.slice(4));
      } catch {
        return null;
      }
      if (!/[^\0-\x7f]/.test(label)) return null;
    }
    if (!validLabel(label)) return null;
    if (/[^\0-\x7f]/.test(label)) {
      try {
        labels[i] = `xn--${encode(label)}`;
      } catch {
        return null;
      }
    }
  }
  return labels.join(".");
}
