// Builds ../assets/locales.bin: the data of the locales and of the time zones.
import { DateTimeFormat } from "@formatjs/intl-datetimeformat";
import { deflateSync } from "fflate";
import { deepEqual } from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LANGUAGES, assets, filesOf, formatjs, here, languageOf, zoneNames, zones } from "./sources.mjs";
import { readFields } from "./src/skeletons.js";

mkdirSync(assets, { recursive: true });
const KINDS = {
  date: ["datetimeformat", "DateTimeFormat"],
  list: ["listformat", "ListFormat"],
  names: ["displaynames", "DisplayNames"],
  number: ["numberformat", "NumberFormat"],
  relative: ["relativetimeformat", "RelativeTimeFormat"],
};
function localeData(folder, className, name) {
  let data;
  const source = readFileSync(join(formatjs, `intl-${folder}`, "locale-data", `${name}.js`), "utf8");
  new Function("Intl", source)({ [className]: { __addLocaleData(given) { data = given.data; } } });
  return data;
}

// What a region's data has otherwise than its parent's; `null` where the region has nothing. Lists are kept whole.
const isPlain = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
function difference(parent, own) {
  const result = {};
  for (const key of Object.keys(own)) {
    const one = own[key], other = parent[key];
    if (isPlain(one) && isPlain(other)) {
      const inner = difference(other, one);
      if (Object.keys(inner).length > 0) result[key] = inner;
    } else if (JSON.stringify(one) !== JSON.stringify(other)) result[key] = one;
  }
  for (const key of Object.keys(parent)) if (!(key in own)) result[key] = null;
  return result;
}

// formatjs has one pattern for a date and a time, where CLDR has another one for the long styles: "at 3:04 PM".
const cldr = join(here, "node_modules", "cldr-dates-full", "main");
function joinDateAndTime(name, data) {
  const file = join(cldr, name, "ca-gregorian.json");
  if (!existsSync(file)) return;
  const { calendars } = JSON.parse(readFileSync(file, "utf8")).main[name].dates;
  const { full, long } = calendars.gregorian["dateTimeFormats-atTime"].standard;
  data.dateTimeFormat = { ...data.dateTimeFormat, full, long };
}

// What few programs need is stored apart.
function splitDates(name, data) {
  joinDateAndTime(name, data);
  DateTimeFormat.__addLocaleData({ locale: name, data });
  for (const { skeleton, pattern, pattern12, rawPattern, rangePatterns, rangePatterns12, ...fields }
    of DateTimeFormat.localeData[name].formats.gregory) deepEqual({ ...readFields(skeleton, {}) }, { ...fields }, skeleton);
  const { formats, intervalFormats, timeZoneName, calendarData, ...rest } = data;
  const { intervalFormatFallback } = intervalFormats;
  return {
    date: { ...rest, ca: ["gregory", "iso8601"], formats: { gregory: formats.gregory }, intervalFormats: { intervalFormatFallback } },
    ranges: intervalFormats,
    zones: timeZoneName,
  };
}

const names = [...new Set(Object.values(KINDS).flatMap(([folder]) => filesOf(folder)))]
  .filter((name) => LANGUAGES.includes(languageOf(name))).sort();
const entries = [];
// What a region's data has otherwise than its parent's; all of it where the difference would change an order.
const merged = (parent, own) => {
  const result = {};
  for (const key of Object.keys(parent)) {
    if (!Object.hasOwn(own, key)) result[key] = parent[key];
    else if (own[key] !== null) result[key] = isPlain(own[key]) && isPlain(parent[key]) ? merged(parent[key], own[key]) : own[key];
  }
  for (const key of Object.keys(own)) if (own[key] !== null && !(key in parent)) result[key] = own[key];
  return result;
};
const plain = (data) => JSON.parse(JSON.stringify(data));
function textOf(parent, own) {
  if (parent === undefined) return JSON.stringify(own);
  const change = difference(parent, own);
  return JSON.stringify(merged(parent, change)) === JSON.stringify(own) ? JSON.stringify(change) : "=" + JSON.stringify(own);
}
const data = new Map(names.map((name) => [name, {}]));
for (const [kind, [folder, className]] of Object.entries(KINDS)) {
  const files = new Set(filesOf(folder));
  for (const name of names) {
    const own = files.has(name) ? localeData(folder, className, name) : undefined; // some files are empty
    if (own !== undefined) Object.assign(data.get(name), kind === "date" ? plain(splitDates(name, own)) : { [kind]: plain(own) });
  }
}
// A locale is stored as what it has otherwise than the one of these from which it differs least.
const textsOf = (name, parent) => Object.entries(data.get(name)).map(([kind, own]) => [`${kind}/${name}`, textOf(data.get(parent)?.[kind], own)]);
const lengthOf = (texts) => texts.reduce((sum, [, text]) => sum + text.length, 0);
const locales = {};
for (const name of names) {
  const shorter = [];
  for (let tag = name; tag.includes("-");) {
    tag = tag.slice(0, tag.lastIndexOf("-"));
    if (names.includes(tag)) shorter.push(tag);
  }
  const wide = { en: "en-001", es: "es-419", pt: "pt-PT" }[languageOf(name)];
  if (wide !== undefined && name.includes("-") && name !== wide) shorter.push(wide);
  const [parent, texts] = (shorter.length === 0 ? [""] : shorter).map((tag) => [tag, textsOf(name, tag)])
    .reduce((best, one) => lengthOf(one[1]) < lengthOf(best[1]) ? one : best);
  locales[name] = parent;
  for (const [key, text] of texts) if (text !== "{}") entries.push([key, text]);
}

zones.forEach((zone, i) => entries.push([`zone/${zoneNames[i]}`, zone]));

entries.push(["parents", JSON.stringify(locales)]);
// A line of JSON with a digest and the place and the length of each entry, and the entries, compressed one by one.
let at = 0;
const places = {}, parts = [];
for (const [key, text] of entries) {
  const part = deflateSync(Buffer.from(text), { level: 9 });
  places[key] = [at, part.length];
  parts.push(part);
  at += part.length;
}
const packed = Buffer.concat(parts), digest = createHash("sha256").update(packed).digest("hex");
writeFileSync(join(assets, "locales.bin"), Buffer.concat([Buffer.from(`${JSON.stringify({ digest, places })}\n`), packed]));
console.log(`locales.bin: ${at} bytes, ${entries.length} entries`);
