// The formatter: the polyfills of formatjs in a QuickJS of their own, as one function from text to text.
//
// It runs no code of a guest, keeps no value of one, and knows no clock: an answer depends on the request alone. So
// one formatter may serve several guests. The host sends the data of a locale when a request first needs it.
import "./begin.js";
import { DateTimeFormat } from "@formatjs/intl-datetimeformat";
import { DisplayNames } from "@formatjs/intl-displaynames";
import { getCanonicalLocales } from "@formatjs/intl-getcanonicallocales";
import { default as ListFormat } from "@formatjs/intl-listformat";
import { Locale } from "@formatjs/intl-locale";
import { NumberFormat } from "@formatjs/intl-numberformat";
import { PluralRules } from "@formatjs/intl-pluralrules";
import { default as RelativeTimeFormat } from "@formatjs/intl-relativetimeformat";
import { Segmenter } from "@formatjs/intl-segmenter";
import { addPluralRules } from "virtual:plural-rules";
import { readFields } from "./skeletons.js";
import { known, missing, zoneNames, zoneTables, links } from "virtual:index";

const classes = { DateTimeFormat, DisplayNames, ListFormat, NumberFormat, PluralRules, RelativeTimeFormat, Segmenter };
// The polyfills use each other by these names, with locales that there are: no search for the best one.
const lookedUp = (Class) => {
  const made = new Map();
  return function (locales, options) {
    const key = JSON.stringify([locales, options]);
    let one = made.get(key);
    if (one === undefined) {
      if (made.size > 100) made.clear();
      made.set(key, one = new Class(locales, { ...options, localeMatcher: "lookup" }));
    }
    return one;
  };
};
Object.assign(globalThis.Intl, classes, { getCanonicalLocales, Locale });
addPluralRules();
for (const name of ["NumberFormat", "PluralRules", "ListFormat"]) globalThis.Intl[name] = lookedUp(classes[name]);

const DEFAULT = "en-US";
const hasOwn = (object, key) => Object.prototype.hasOwnProperty.call(object, key);
const labels = new Set(known), without = new Set(missing);
let fetchData = () => "", parents = {}, packed = new Set(); // names of locales with data; each has a parent or ""

// -- locales -------------------------------------------------------------------------------------

// Which data serves a locale, and under which name the language's own implementations would show it.
const found = new Map();
function resolve(tag) {
  let answer = found.get(tag);
  if (answer === undefined) {
    if (found.size > 500) found.clear();
    found.set(tag, answer = search(tag));
  }
  return answer;
}
function search(tag) {
  const at = tag.search(/-[a-z0-9]-/);
  const base = at < 0 ? tag : tag.slice(0, at), extension = at < 0 ? "" : tag.slice(at);
  const { language, script, region } = new Locale(base);
  const likely = new Locale(base).maximize();
  const usual = new Locale(language).maximize().script;
  const names = [base];
  if (script !== undefined && region !== undefined) names.push(`${language}-${script}-${region}`, `${language}-${script}`);
  else if (script !== undefined) names.push(`${language}-${script}`);
  if (likely.script === usual) {
    if (region !== undefined) names.push(`${language}-${region}`);
    names.push(language);
  } else names.push(`${language}-${likely.script}-${likely.region}`, `${language}-${likely.script}`);
  const data = names.find((name) => packed.has(name));
  if (data === undefined) return { missing: without.has(language) };
  let label = base;
  while (label.includes("-") && !labels.has(label)) label = label.slice(0, label.lastIndexOf("-"));
  return { data, label, extension };
}
function canonical(tags) {
  return tags.flatMap((tag) => {
    try {
      return getCanonicalLocales(tag);
    } catch {
      throw new RangeError(`Incorrect locale information provided: ${tag.slice(0, 100)}`);
    }
  }).filter((tag, i, all) => all.indexOf(tag) === i);
}
// The first of the requested locales that there is; an error where its data is not packed.
function chosen(requested) {
  for (const tag of canonical(requested)) {
    const answer = resolve(tag);
    if (answer.data !== undefined) return answer;
    if (answer.missing) {
      const names = [...packed.keys()].filter((name) => !name.includes("-")).join(", ");
      throw new RangeError(`the plugin intl has no data for the locale ${tag}; it has ${names}, and their regions`);
    }
  }
  return resolve(DEFAULT);
}
function supported(requested) {
  return canonical(requested).filter((tag) => resolve(tag).data !== undefined);
}

// -- data of locales -----------------------------------------------------------------------------

const KINDS = { DateTimeFormat: "date", DisplayNames: "names", ListFormat: "list", NumberFormat: "number", RelativeTimeFormat: "relative" };
const NEEDS = {
  DateTimeFormat: ["DateTimeFormat", "NumberFormat"],
  RelativeTimeFormat: ["RelativeTimeFormat", "NumberFormat"],
  Segmenter: [],
  PluralRules: ["NumberFormat"],
};
const loaded = new Map();
// The data of one kind; a region's is what differs from its parent's.
function dataOf(kind, name) {
  const key = `${kind}/${name}`;
  let data = loaded.get(key);
  if (data === undefined) {
    const text = fetchData(key), parent = parents[name];
    if (text === "") data = dataOf(kind, parent);
    else if (text[0] === "=") data = JSON.parse(text.slice(1));
    else data = parent === "" ? JSON.parse(text) : merged(dataOf(kind, parent), JSON.parse(text));
    loaded.set(key, data);
  }
  return data;
}
function merged(parent, own) {
  const result = {};
  for (const key of Object.keys(parent)) {
    if (!hasOwn(own, key)) result[key] = parent[key];
    else if (own[key] !== null) result[key] = isPlain(own[key]) && isPlain(parent[key]) ? merged(parent[key], own[key]) : own[key];
  }
  for (const key of Object.keys(own)) if (own[key] !== null && !hasOwn(parent, key)) result[key] = own[key];
  return result;
}
const isPlain = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const added = new Set();
function need(name, kinds) {
  for (const kind of kinds) {
    const key = `${kind} ${name}`;
    if (added.has(key)) continue;
    added.add(key);
    if (kind === "DateTimeFormat") addDates(name);
    else if (kind in KINDS) classes[kind].__addLocaleData({ locale: name, data: dataOf(KINDS[kind], name) });
  }
}

// formatjs parses all patterns of a locale when it first looks at one, which takes seconds here. So it gets the fields
// by which it finds a pattern, and each pattern is parsed when it is used: as the only one of a locale of its own.
let mixed = true; // whether the formatter in the making may have fields of dates and of times
function addDates(name) {
  const data = dataOf("date", name), { gregory } = data.formats;
  DateTimeFormat.__addLocaleData({ locale: name, data: { ...data, formats: { gregory: {} } } });
  const added = DateTimeFormat.localeData[name], skeletons = Object.keys(gregory);
  const listOf = (names) => names.map((skeleton) => lazyFormat(name, skeleton, gregory[skeleton]));
  // A pattern of a date and a time is never better than that of its part, if only fields of that part are asked for.
  let all, simple;
  const formats = () => mixed ? all ??= listOf(skeletons) : simple ??= listOf(skeletons.filter((skeleton) => !skeleton.includes(", ")));
  added.formats = {};
  define(added.formats, "gregory", formats);
  define(added.formats, "iso8601", formats);
  added.ca = ["gregory", "iso8601"];
  for (const part of ["dateFormat", "timeFormat"])
    for (const format of Object.values(added[part])) Object.assign(format, rangesOf(name, format.skeleton, format.rawPattern));
  define(added, "timeZoneName", () => dataOf("zones", name));
}
const fields = new Map(); // by skeleton
function lazyFormat(name, skeleton, rawPattern) {
  let known = fields.get(skeleton);
  if (known === undefined) fields.set(skeleton, known = readFields(skeleton, {}));
  // formatjs copies the format that it has found, in this order: the first getter provides the rest.
  return Object.assign({
    __proto__: null, skeleton, rawPattern,
    get pattern() {
      const { pattern, pattern12 } = parsedFormat(skeleton, rawPattern, {});
      Object.assign(this, { pattern12 }, rangesOf(name, skeleton, rawPattern));
      return pattern;
    },
    pattern12: "", rangePatterns: undefined, rangePatterns12: undefined,
  }, known);
}
// Patterns of ranges are parsed when one is read.
function rangesOf(name, skeleton, rawPattern) {
  let parsed;
  const patterns = () => parsed ??= parsedFormat(skeleton, rawPattern, dataOf("ranges", name));
  return Object.fromEntries(["rangePatterns", "rangePatterns12"].map((key) => [key, new Proxy({}, { get: (_, field) => patterns()[key][field] })]));
}
const SCRATCH = "en-x-scratch", STYLES = { full: "y", long: "y", medium: "y", short: "y" };
function parsedFormat(skeleton, rawPattern, intervalFormats) {
  DateTimeFormat.__addLocaleData({ locale: SCRATCH, data: { ca: ["gregory"], nu: [], hc: [], formats: { gregory: { [skeleton]: rawPattern } },
    intervalFormats, dateFormat: STYLES, timeFormat: STYLES, dateTimeFormat: STYLES } });
  return DateTimeFormat.localeData[SCRATCH].formats.gregory[0];
}
function define(object, key, get) {
  Object.defineProperty(object, key, { get, enumerable: true, configurable: true });
}

// -- time zones ----------------------------------------------------------------------------------

// Each zone is unpacked when it is first used. formatjs looks through all it has each time, so it has those in use.
const zoneKeys = new Map(zoneNames.map((name) => [name.toUpperCase(), name]));
const zoneData = {};
DateTimeFormat.tzData = zoneData;
function needZone(zone) {
  const upper = zone.toUpperCase(), name = links[upper] ?? zoneKeys.get(upper); // in this order, as formatjs does it
  if (!zoneNames.includes(name) || hasOwn(zoneData, name)) return;
  DateTimeFormat.__addTZData({ ...zoneTables, zones: [fetchData(`zone/${name}`)] });
  zoneData[name] = DateTimeFormat.tzData[name];
  DateTimeFormat.tzData = zoneData;
}
// -- requests ------------------------------------------------------------------------------------

const DATE = ["weekday", "era", "year", "month", "day"];
const TIME = ["dayPeriod", "hour", "minute", "second", "fractionalSecondDigits", "timeZoneName"];
const made = new Map();
function formatter(name, requested, options) {
  const key = JSON.stringify([name, requested, options]);
  let entry = made.get(key);
  if (entry === undefined) {
    if (made.size > 200) made.clear();
    const locale = chosen(requested);
    need(locale.data, NEEDS[name] ?? [name, "NumberFormat"]);
    if (name === "DateTimeFormat") checkDates(locale.extension, options);
    mixed = DATE.some((field) => options[field] !== undefined) && TIME.some((field) => options[field] !== undefined);
    const tag = locale.data + locale.extension;
    entry = { formatter: new classes[name](tag, { ...options, localeMatcher: "lookup" }), locale };
    made.set(key, entry);
  }
  return entry;
}
// There is no other calendar than the Gregorian; a date of another one would be wrong, and look right.
function checkDates(extension, { calendar, timeZone }) {
  const asked = calendar ?? /-ca-([a-z0-9]+)/.exec(extension)?.[1];
  if (asked !== undefined && asked !== "gregory" && asked !== "iso8601")
    throw new RangeError(`the plugin intl has no calendar ${asked}; it has gregory and iso8601`);
  if (timeZone !== undefined) needZone(timeZone);
}
function resolvedOptions({ formatter, locale }) {
  const options = { ...formatter.resolvedOptions() };
  if (typeof options.locale === "string") options.locale = locale.label + options.locale.slice(locale.data.length);
  return options;
}

const number = (value) => {
  if (typeof value !== "object" || value === null) return value;
  return "big" in value ? BigInt(value.big) : Number(value.number);
};
// As V8 does it: narrow spaces that may not break are plain ones in dates and times.
const withSpaces = (answer) => typeof answer === "string" ? answer.replaceAll("\u202f", " ")
  : answer.map((part) => ({ ...part, value: part.value.replaceAll("\u202f", " ") }));
const TEXTS = new Set(["DisplayNames", "ListFormat"]);
const actions = {
  canonical: ({ locales: tags }) => canonical(tags),
  supported: ({ locales: tags }) => supported(tags),
  open: ({ name, locales: tags, options }) => resolvedOptions(formatter(name, tags, options)),
  call: ({ name, locales: tags, options, method, values }) => {
    const { formatter: one } = formatter(name, tags, options);
    const answer = one[method](...(TEXTS.has(name) ? values : values.map(number)));
    if (answer === undefined) return null;
    return name === "DateTimeFormat" ? withSpaces(answer) : answer;
  },
  segment: ({ locales: tags, options, text }) => {
    const { formatter: one } = formatter("Segmenter", tags, options), parts = [];
    for (const { index, isWordLike } of one.segment(text)) parts.push(isWordLike === undefined ? index : [index, isWordLike]);
    return parts;
  },
  locale: ({ tag, options, method }) => {
    const one = new Locale(tag, options);
    if (method !== undefined) {
      const answer = one[method]();
      return answer instanceof Locale ? answer.toString() : answer;
    }
    const names = ["language", "script", "region", "baseName", "calendar", "collation", "hourCycle", "caseFirst",
      "numeric", "numberingSystem"];
    return { text: one.toString(), ...Object.fromEntries(names.map((name) => [name, one[name]])) };
  },
  zones: () => zoneNames,
};

// An answer is {value} or {error: [name, message]}.
export function answer(text) {
  try {
    const request = JSON.parse(text);
    return JSON.stringify({ value: actions[request.action](request) });
  } catch (error) {
    return JSON.stringify({ error: [String(error.name), String(error.message)] });
  }
}
// `fetch` answers texts: the data under a key. What most programs need first is used once: the host keeps this state.
export function begin(fetch) {
  fetchData = fetch;
  parents = JSON.parse(fetch("parents"));
  packed = new Set(Object.keys(parents));
  const time = { timeZone: "UTC", dateStyle: "full", timeStyle: "long" };
  for (const [name, options, method, ...values] of [
    ["NumberFormat", {}, "format", 1234.5],
    ["NumberFormat", { style: "currency", currency: "USD" }, "format", 1234.5],
    ["DateTimeFormat", time, "format", 0],
    ["DateTimeFormat", { timeZone: "America/New_York", month: "short", day: "numeric" }, "format", 0],
    ["DateTimeFormat", { timeZone: "UTC", year: "numeric", hour: "numeric" }, "format", 0],
    ["PluralRules", {}, "select", 1],
    ["RelativeTimeFormat", {}, "format", 1, "day"],
    ["ListFormat", {}, "format", ["a", "b"]],
    ["DisplayNames", { type: "region" }, "of", "US"],
  ]) actions.call({ name, locales: [DEFAULT], options, method, values });
  for (const granularity of ["grapheme", "word", "sentence"]) actions.segment({ locales: [DEFAULT], options: { granularity }, text: "A b." });
}
