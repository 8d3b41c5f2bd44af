// The guest's side of `Intl`: objects that hold locales and options, and ask the formatter for each answer.
//
// What the guest keeps in variables is therefore small, and goes on in every process that restores it. Options are read
// here, where getters of the guest may run; the formatter gets plain data.

const LISTS = {
  NumberFormat: ["numberingSystem", "style", "currency", "currencyDisplay", "currencySign", "unit", "unitDisplay", "notation",
    "compactDisplay", "minimumIntegerDigits", "minimumFractionDigits", "maximumFractionDigits", "minimumSignificantDigits",
    "maximumSignificantDigits", "roundingIncrement", "roundingMode", "roundingPriority", "trailingZeroDisplay", "useGrouping",
    "signDisplay"],
  DateTimeFormat: ["calendar", "numberingSystem", "hour12", "hourCycle", "timeZone", "weekday", "era", "year", "month", "day",
    "dayPeriod", "hour", "minute", "second", "fractionalSecondDigits", "timeZoneName", "formatMatcher", "dateStyle", "timeStyle"],
  PluralRules: ["type", "minimumIntegerDigits", "minimumFractionDigits", "maximumFractionDigits", "minimumSignificantDigits",
    "maximumSignificantDigits"],
  RelativeTimeFormat: ["numberingSystem", "style", "numeric"],
  ListFormat: ["type", "style"],
  DisplayNames: ["style", "type", "fallback", "languageDisplay"],
  Segmenter: ["granularity"],
};
const LOCALE = ["language", "script", "region", "calendar", "collation", "hourCycle", "caseFirst", "numeric", "numberingSystem"];
const NO_COLLATION = "QuickJS has no collation: no polyfill of it is maintained. Sort by <, or by a key that your code makes "
  + "(such as text.normalize('NFD').toLowerCase()), or use an engine that has Intl (v8, node)";

export function install(kernel, ask) {
  const { parse, stringify } = JSON, { isArray } = Array, { now } = kernel, { floor, trunc } = Math;
  const errors = { TypeError, RangeError, SyntaxError }, slots = new WeakMap();
  const { get: getSlot, set: setSlot } = WeakMap.prototype, { apply } = Reflect;
  const slotsOf = (object, name, method) => {
    const state = apply(getSlot, slots, [object]);
    if (state?.name !== name) throw new TypeError(`Method Intl.${name}.prototype.${method} called on incompatible receiver`);
    return state;
  };
  const keep = (object, state) => apply(setSlot, slots, [object, state]);
  const call = (request) => {
    const answer = parse(ask(stringify(request)));
    if (answer.error !== undefined) throw new (errors[answer.error[0]] ?? Error)(answer.error[1]);
    return answer.value;
  };

  // -- arguments ---------------------------------------------------------------------------------

  const tagOf = (value) => {
    const state = typeof value === "object" && value !== null ? apply(getSlot, slots, [value]) : undefined;
    if (state?.name === "Locale") return state.text;
    if (typeof value !== "string" && (typeof value !== "object" || value === null)) throw new TypeError("Incorrect locale information provided");
    return String(value);
  };
  const tagsOf = (locales) => {
    if (locales === undefined) return [];
    if (locales === null) throw new TypeError("Cannot convert undefined or null to object");
    if (typeof locales === "string" || apply(getSlot, slots, [Object(locales)])?.name === "Locale") return [tagOf(locales)];
    const list = Object(locales), tags = [], length = Math.min(trunc(Number(list.length)) || 0, 1000);
    for (let i = 0; i < length; i++) if (i in list) tags.push(tagOf(list[i]));
    return tags;
  };
  const read = (given, names) => {
    if (given === undefined) return {};
    if (given === null) throw new TypeError("Cannot convert undefined or null to object");
    const options = {}, object = Object(given);
    for (const name of names) {
      const value = object[name];
      if (value === undefined) continue;
      options[name] = name === "hour12" ? Boolean(value) : typeof value === "boolean" || typeof value === "number" ? value : String(value);
    }
    return options;
  };
  const wireNumber = (value) => {
    if (typeof value === "bigint") return { big: String(value) };
    const number = typeof value === "number" ? value : typeof value === "string" ? value : Number(value);
    if (typeof number === "string") return number;
    return number - number === 0 && !(number === 0 && 1 / number < 0) ? number : { number: number === 0 ? "-0" : String(number) };
  };
  const wireDate = (value) => {
    const time = value === undefined ? floor(now()) : trunc(Number(value));
    if (!(time >= -8.64e15 && time <= 8.64e15)) throw new RangeError("Invalid time value");
    return time + 0;
  };
  const wireTexts = (list) => {
    if (list === undefined) return [];
    const texts = [];
    for (const text of list) {
      if (typeof text !== "string") throw new TypeError("Iterable yielded a non-String value");
      texts.push(text);
    }
    return texts;
  };

  // -- classes -----------------------------------------------------------------------------------

  const hide = (object, entries) => {
    for (const key of Object.keys(entries)) Object.defineProperty(object, key, { value: entries[key], writable: true, enumerable: false, configurable: true });
  };
  const finish = (Class, name, methods) => {
    hide(Class.prototype, methods);
    Object.defineProperty(Class.prototype, Symbol.toStringTag, { value: `Intl.${name}`, configurable: true });
    Object.defineProperty(Class, "prototype", { writable: false });
    Object.defineProperty(Class, "name", { value: name, configurable: true });
    Object.defineProperty(Class, "length", { value: 0, configurable: true });
    hide(Class, { supportedLocalesOf: { supportedLocalesOf(locales) { return call({ action: "supported", locales: tagsOf(locales) }); } }.supportedLocalesOf });
    return Class;
  };
  const copied = (resolved) => parse(stringify(resolved));
  // A class of formatters; those that JavaScript had first may be called without `new`.
  const formatterClass = (name, callable, methods) => {
    const Class = function (locales, options) {
      if (new.target === undefined && !callable) throw new TypeError(`Constructor Intl.${name} requires 'new'`);
      const self = new.target === undefined || new.target === Class ? Object.create(Class.prototype)
        : Object.create(new.target.prototype ?? Class.prototype);
      if (name === "DisplayNames" && (options === undefined || options?.type === undefined)) throw new TypeError("Required option \"type\" must not be undefined");
      const state = { name, locales: tagsOf(locales), options: read(options, LISTS[name]), resolved: undefined, bound: undefined };
      state.resolved = call({ action: "open", name, locales: state.locales, options: state.options });
      keep(self, state);
      return self;
    };
    return finish(Class, name, { ...methods, ...{ resolvedOptions() { return copied(slotsOf(this, name, "resolvedOptions").resolved); } } });
  };
  const asked = ({ name, locales, options }, method, values) => {
    const answer = call({ action: "call", name, locales, options, method, values });
    return answer === null ? undefined : answer;
  };
  // `format` of numbers and dates is a function that knows its formatter.
  const bindFormat = (Class, name, wire) => {
    Object.defineProperty(Class.prototype, "format", { enumerable: false, configurable: true, get: Object.getOwnPropertyDescriptor({
      get format() {
        const state = slotsOf(this, name, "format");
        if (state.bound === undefined) {
          state.bound = (value) => asked(state, "format", [wire(value)]);
          Object.defineProperty(state.bound, "name", { value: "", configurable: true });
        }
        return state.bound;
      },
    }, "format").get });
    return Class;
  };
  const ends = (start, end, wire) => {
    if (start === undefined || end === undefined) throw new TypeError("start or end is undefined");
    return [wire(start), wire(end)];
  };
  const numeric = (name, wire) => ({
    formatToParts(value) { return asked(slotsOf(this, name, "formatToParts"), "formatToParts", [wire(value)]); },
    formatRange(start, end) { return asked(slotsOf(this, name, "formatRange"), "formatRange", ends(start, end, wire)); },
    formatRangeToParts(start, end) { return asked(slotsOf(this, name, "formatRangeToParts"), "formatRangeToParts", ends(start, end, wire)); },
  });
  const NumberFormat = bindFormat(formatterClass("NumberFormat", true, numeric("NumberFormat", wireNumber)), "NumberFormat", wireNumber);
  const DateTimeFormat = bindFormat(formatterClass("DateTimeFormat", true, numeric("DateTimeFormat", wireDate)), "DateTimeFormat", wireDate);
  const PluralRules = formatterClass("PluralRules", false, {
    select(value) { return asked(slotsOf(this, "PluralRules", "select"), "select", [wireNumber(Number(value))]); },
    selectRange(start, end) {
      return asked(slotsOf(this, "PluralRules", "selectRange"), "selectRange", ends(start, end, (value) => wireNumber(Number(value))));
    },
  });
  const RelativeTimeFormat = formatterClass("RelativeTimeFormat", false, {
    format(value, unit) { return asked(slotsOf(this, "RelativeTimeFormat", "format"), "format", [wireNumber(Number(value)), String(unit)]); },
    formatToParts(value, unit) { return asked(slotsOf(this, "RelativeTimeFormat", "formatToParts"), "formatToParts", [wireNumber(Number(value)), String(unit)]); },
  });
  const ListFormat = formatterClass("ListFormat", false, {
    format(list) { return asked(slotsOf(this, "ListFormat", "format"), "format", [wireTexts(list)]); },
    formatToParts(list) { return asked(slotsOf(this, "ListFormat", "formatToParts"), "formatToParts", [wireTexts(list)]); },
  });
  const DisplayNames = formatterClass("DisplayNames", false, {
    of(code) { return asked(slotsOf(this, "DisplayNames", "of"), "of", [String(code)]); },
  });

  // -- segments ----------------------------------------------------------------------------------

  const segmentAt = ({ text, parts }, at) => {
    const part = parts[at], index = isArray(part) ? part[0] : part, next = parts[at + 1];
    const end = next === undefined ? text.length : isArray(next) ? next[0] : next;
    const data = { segment: text.slice(index, end), index, input: text };
    if (isArray(part)) data.isWordLike = part[1];
    return data;
  };
  const Segmenter = formatterClass("Segmenter", false, {
    segment(input) {
      const { locales, options } = slotsOf(this, "Segmenter", "segment"), text = String(input);
      const found = { text, parts: text === "" ? [] : call({ action: "segment", locales, options, text }) };
      return {
        containing(position) {
          const at = trunc(Number(position)) || 0;
          if (at < 0 || at >= text.length) return undefined;
          let i = 0;
          while (i + 1 < found.parts.length && (isArray(found.parts[i + 1]) ? found.parts[i + 1][0] : found.parts[i + 1]) <= at) i++;
          return segmentAt(found, i);
        },
        *[Symbol.iterator]() {
          for (let i = 0; i < found.parts.length; i++) yield segmentAt(found, i);
        },
      };
    },
  });

  // -- locales -----------------------------------------------------------------------------------

  const Locale = function (tag, options) {
    if (new.target === undefined) throw new TypeError("Constructor Intl.Locale requires 'new'");
    if (typeof tag !== "string" && (typeof tag !== "object" || tag === null)) throw new TypeError("First argument to Intl.Locale constructor can't be empty or missing");
    const self = Object.create(new.target === Locale ? Locale.prototype : new.target.prototype ?? Locale.prototype);
    keep(self, { name: "Locale", ...call({ action: "locale", tag: tagOf(tag), options: read(options, LOCALE) }) });
    return self;
  };
  const ofLocale = (locale, method) => call({ action: "locale", tag: slotsOf(locale, "Locale", method).text, options: {}, method });
  finish(Locale, "Locale", {
    toString() { return slotsOf(this, "Locale", "toString").text; },
    maximize() { return new Locale(ofLocale(this, "maximize")); },
    minimize() { return new Locale(ofLocale(this, "minimize")); },
    ...Object.fromEntries(["getCalendars", "getCollations", "getHourCycles", "getNumberingSystems", "getTextInfo", "getTimeZones", "getWeekInfo"]
      .map((method) => [method, { [method]() { return ofLocale(this, method); } }[method]])),
  });
  delete Locale.supportedLocalesOf;
  Object.defineProperty(Locale, "length", { value: 1, configurable: true });
  for (const key of ["baseName", ...LOCALE]) Object.defineProperty(Locale.prototype, key, { enumerable: false, configurable: true,
    get() { return slotsOf(this, "Locale", key)[key]; } });
  for (const [key, method] of [["calendars", "getCalendars"], ["collations", "getCollations"], ["hourCycles", "getHourCycles"],
    ["numberingSystems", "getNumberingSystems"], ["textInfo", "getTextInfo"], ["timeZones", "getTimeZones"], ["weekInfo", "getWeekInfo"]])
    Object.defineProperty(Locale.prototype, key, { enumerable: false, configurable: true, get() { return ofLocale(this, method) ?? undefined; } });

  const Collator = function Collator() { throw new TypeError(`Intl.Collator: ${NO_COLLATION}`); };
  const Intl = {};
  Object.defineProperty(Intl, Symbol.toStringTag, { value: "Intl", configurable: true });
  hide(Intl, {
    Collator, DateTimeFormat, DisplayNames, ListFormat, Locale, NumberFormat, PluralRules, RelativeTimeFormat, Segmenter,
    ...{
      getCanonicalLocales(locales) { return call({ action: "canonical", locales: tagsOf(locales) }); },
      supportedValuesOf(key) {
        const name = String(key);
        if (name === "timeZone") return call({ action: "zones" });
        if (name === "calendar") return ["gregory", "iso8601"];
        if (name === "collation") return [];
        throw new RangeError(`Intl.supportedValuesOf: the plugin intl lists no ${name}; it lists timeZone, calendar and collation`);
      },
    },
  });
  kernel.define("Intl", Intl);

  // -- methods of built-ins that take locales ------------------------------------------------------

  const replace = (owner, methods) => {
    for (const name of Object.keys(methods)) {
      const { length } = owner[name] ?? { length: 0 };
      hide(owner, { [name]: methods[name] });
      Object.defineProperty(methods[name], "length", { value: length, configurable: true });
    }
  };
  const { valueOf: numberValue } = Number.prototype, { valueOf: bigintValue } = BigInt.prototype, { getTime } = Date.prototype;
  const format = (name, locales, options, value) => asked({ name, locales: tagsOf(locales), options }, "format", [value]);
  replace(Number.prototype, {
    toLocaleString(locales, options) { return format("NumberFormat", locales, read(options, LISTS.NumberFormat), wireNumber(apply(numberValue, this, []))); },
  });
  replace(BigInt.prototype, {
    toLocaleString(locales, options) { return format("NumberFormat", locales, read(options, LISTS.NumberFormat), wireNumber(apply(bigintValue, this, []))); },
  });
  const DATE = ["weekday", "year", "month", "day"], TIME = ["dayPeriod", "hour", "minute", "second", "fractionalSecondDigits"];
  const dateText = (date, locales, given, required, defaults) => {
    const time = apply(getTime, date, []), options = read(given, LISTS.DateTimeFormat);
    if (time !== time) return "Invalid Date";
    const needed = required === "date" ? DATE : required === "time" ? TIME : [...DATE, ...TIME];
    const { dateStyle, timeStyle } = options;
    if (required === "date" && timeStyle !== undefined) throw new TypeError("Invalid option : timeStyle");
    if (required === "time" && dateStyle !== undefined) throw new TypeError("Invalid option : dateStyle");
    if (dateStyle === undefined && timeStyle === undefined && needed.every((name) => options[name] === undefined)) {
      if (defaults !== "time") options.year = options.month = options.day = "numeric";
      if (defaults !== "date") options.hour = options.minute = options.second = "numeric";
    }
    return format("DateTimeFormat", locales, options, time);
  };
  replace(Date.prototype, {
    toLocaleString(locales, options) { return dateText(this, locales, options, "any", "all"); },
    toLocaleDateString(locales, options) { return dateText(this, locales, options, "date", "date"); },
    toLocaleTimeString(locales, options) { return dateText(this, locales, options, "time", "time"); },
  });
  const itemsText = (list, locales, options) => {
    let text = "";
    for (let i = 0; i < list.length; i++) {
      if (i > 0) text += ",";
      const item = list[i];
      if (item !== undefined && item !== null) text += item.toLocaleString(locales, options);
    }
    return text;
  };
  replace(Array.prototype, { toLocaleString(locales, options) { return itemsText(Object(this), locales, options); } });
  const typed = Object.getPrototypeOf(Uint8Array.prototype), { join } = typed;
  replace(typed, {
    toLocaleString(locales, options) {
      apply(join, this, []); // refuses what is no typed array
      return itemsText(this, locales, options);
    },
  });
  const { toUpperCase, toLowerCase, replaceAll } = String.prototype, { localeCompare } = String.prototype;
  const dotted = (locales) => {
    const [tag] = call({ action: "canonical", locales: tagsOf(locales) });
    const language = tag === undefined ? "en" : tag.split("-")[0];
    if (language === "lt") throw new RangeError("the plugin intl has no Lithuanian rules for upper and lower case");
    return language === "tr" || language === "az";
  };
  replace(String.prototype, {
    toLocaleUpperCase(locales) {
      const text = String(this);
      return apply(toUpperCase, locales !== undefined && dotted(locales) ? apply(replaceAll, text, ["i", "\u0130"]) : text, []);
    },
    toLocaleLowerCase(locales) {
      const text = String(this);
      if (locales === undefined || !dotted(locales)) return apply(toLowerCase, text, []);
      return apply(toLowerCase, apply(replaceAll, apply(replaceAll, apply(replaceAll, text, ["I\u0307", "i"]), ["\u0130", "i"]), ["I", "\u0131"]), []);
    },
    localeCompare(that, locales, options) {
      if (locales !== undefined || options !== undefined) throw new TypeError(`localeCompare: locales and options have no effect here. ${NO_COLLATION}`);
      return apply(localeCompare, this, [that]);
    },
  });
}
