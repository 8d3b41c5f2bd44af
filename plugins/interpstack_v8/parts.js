// Bounds what builtins make in one piece of a guest's strings: V8 ends the process where
// a list inside it would have more parts than its arrays can have, and looks at no limit meanwhile.
//
// Runs before everything else in a fresh context. What is refused ends with a `RangeError`.
() => {
  "use strict";
  const { apply, construct, defineProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;
  const uncurry = Function.prototype.bind.bind(Function.prototype.call);
  const RangeErrorClass = RangeError, RegExpClass = RegExp;
  const textOf = (value) => `${value}`;
  const { trunc } = Math;
  const MOST_PARTS = 2 ** 27 - 16; // of V8's arrays, with some to spare
  const MOST_PIECES = 2 ** 24; // which V8 keeps of matches, and copies as they grow
  const MOST_OWN = 2 ** 20; // pieces of matches that the guest's own code tells of
  const MOST_VALUES = 2 ** 25; // of JSON, counted in long texts only
  const MOST_CAPTURES = 2 ** 16; // V8 compiles no more
  const LONG = 2 ** 26;
  const { prototype } = RegExp, { match, replace, split, species } = Symbol;
  const indexOf = uncurry(String.prototype.indexOf);
  const exec = prototype.exec, test = uncurry(prototype.test), constructorOf = getOwnPropertyDescriptor(RegExp, species).get;
  const getter = (name) => getOwnPropertyDescriptor(prototype, name).get;
  const sourceOf = uncurry(getter("source")), flagsOf = uncurry(getter("flags"));
  const getFlags = getter("flags"), getGlobal = getter("global");
  const tooMany = () => new RangeErrorClass("Invalid array length");
  const put = (owner, name, method) => defineProperty(owner, name, { __proto__: null, value: method });

  function occurrences(text, part, most) {
    let count = 0;
    for (let at = indexOf(text, part); at >= 0 && count <= most; at = indexOf(text, part, at + (part.length || 1))) {
      count++;
      if (part === "" && at >= text.length) break;
    }
    return count;
  }

  // -- regular expressions ------------------------------------------------------------------

  // Whether V8 asks nothing of the guest's own while it looks for matches.
  function isPlain(regex) {
    return getPrototypeOf(regex) === prototype && ownKeys(regex).length === 1
      && getOwnPropertyDescriptor(prototype, "exec")?.value === exec
      && getOwnPropertyDescriptor(prototype, "flags")?.get === getFlags
      && getOwnPropertyDescriptor(prototype, "global")?.get === getGlobal
      && getOwnPropertyDescriptor(prototype, "constructor")?.value === RegExpClass
      && getOwnPropertyDescriptor(RegExpClass, species)?.get === constructorOf;
  }
  function refuseMany(regex, text, splits, pieces) {
    let source, flags;
    try {
      source = sourceOf(regex), flags = flagsOf(regex);
    } catch {
      return; // of `RegExp.prototype` itself, which matches nothing
    }
    const weight = pieces + occurrences(source, "(", MOST_CAPTURES);
    if ((text.length + 1) * weight <= MOST_PIECES) return;
    const global = indexOf(flags, "g") >= 0;
    if (!global && !splits) return;
    const probe = construct(RegExpClass, [source, splits && !global ? flags + "g" : flags]);
    for (let count = weight, at = 0; test(probe, text); count += weight) {
      if (count > MOST_PIECES) throw tooMany();
      if (probe.lastIndex === at) probe.lastIndex++; // it matched nothing, there
      at = probe.lastIndex;
    }
  }
  // A regular expression that is the guest's, or takes what is the guest's: one that may match
  // without end, and tells of matches that have as many captures as it likes.
  function bounded(regex, left = { __proto__: null, pieces: MOST_OWN }) {
    return {
      __proto__: null,
      get lastIndex() { return regex.lastIndex; },
      set lastIndex(at) { regex.lastIndex = at; },
      get flags() { return regex.flags; },
      get global() { return regex.global; },
      get unicode() { return regex.unicode; },
      get exec() {
        const own = regex.exec;
        return (text) => copied(apply(typeof own === "function" ? own : exec, regex, [text]), left);
      },
      get constructor() {
        const owner = regex.constructor;
        if (owner === undefined) return undefined;
        const maker = owner === null ? undefined : owner[species] ?? RegExpClass;
        const make = function (given, flags) { return bounded(construct(maker, [regex, flags]), left); };
        return { __proto__: null, [species]: make };
      },
    };
  }
  function copied(found, left) {
    if (left.pieces-- <= 0) throw tooMany();
    if (found === null || (typeof found !== "object" && typeof found !== "function")) return found;
    const length = trunc(+found.length) || 0;
    if (length > MOST_CAPTURES || (left.pieces -= length) < 0) throw tooMany();
    const copy = { __proto__: null, length, index: found.index, groups: found.groups };
    for (let i = 0; i < length || i === 0; i++) copy[i] = found[i];
    return copy;
  }
  function bound(symbol, piecesOf) {
    const original = prototype[symbol], splits = symbol === split;
    const { name } = original;
    const method = { [name](given, more) {
      if (typeof this !== "object" || this === null) return apply(original, this, [given, more]);
      const text = textOf(given);
      if (symbol === replace && typeof more !== "function") more = textOf(more);
      if (splits && more !== undefined) more = more >>> 0;
      if (!isPlain(this)) return apply(original, bounded(this), [text, more]);
      if (!splits || more === undefined || more > MOST_PIECES) refuseMany(this, text, splits, piecesOf(more));
      return apply(original, this, [text, more]);
    } }[name];
    if (symbol === match) defineProperty(method, "length", { __proto__: null, value: 1 });
    put(prototype, symbol, method);
  }
  bound(match, () => 4);
  bound(split, () => 4);
  bound(replace, (given) => typeof given === "string" ? 2 + 2 * occurrences(given, "$", MOST_PIECES) : 4);

  // -- strings ------------------------------------------------------------------------------

  const splitString = String.prototype.split, replaceEach = String.prototype.replaceAll;
  const plain = (value) => value === undefined || value === null || typeof value === "string" ? value : textOf(value);
  put(String.prototype, "split", { split(separator, limit) {
    const wanted = sought(separator, split), text = plain(this);
    if (typeof text === "string" && text.length > MOST_PARTS) throw tooMany();
    refuseLong(text, wanted);
    return apply(splitString, text, [wanted, limit]);
  } }.split);
  put(String.prototype, "replaceAll", { replaceAll(part, value) {
    const text = plain(this);
    part = sought(part, replace);
    refuseLong(text, part);
    if (typeof text === "string" && text.length > MOST_PIECES && typeof part === "string"
      && occurrences(text, part, MOST_PIECES) > MOST_PIECES) throw tooMany();
    return apply(replaceEach, text, [part, value]);
  } }.replaceAll);

  // V8 looks for a long text in a longer one in steps that may take as long as both together, over and
  // over. So it looks for ordinary texts only, and for others this does, in one pass.
  const MOST_STEPS = 2 ** 31, MOST_PASSED = 2 ** 33;
  const charCode = uncurry(String.prototype.charCodeAt), Counts = Int32Array, { min, max } = Math;
  // The first place at or after `from`, or -1; backwards, the last place at or before it.
  function placeOf(text, part, from, backwards) {
    const size = part.length, end = text.length - size, fallback = new Counts(size);
    const partAt = backwards ? (i) => charCode(part, size - 1 - i) : (i) => charCode(part, i);
    const start = backwards ? text.length - min(from, end) - size : from;
    const textAt = backwards ? (i) => charCode(text, text.length - 1 - i) : (i) => charCode(text, i);
    for (let i = 1, at = 0; i < size; i++) {
      while (at > 0 && partAt(i) !== partAt(at)) at = fallback[at - 1];
      if (partAt(i) === partAt(at)) at++;
      fallback[i] = at;
    }
    for (let i = start, at = 0; i < text.length; i++) {
      while (at > 0 && textAt(i) !== partAt(at)) at = fallback[at - 1];
      if (textAt(i) === partAt(at)) at++;
      if (at === size) return backwards ? text.length - 1 - i : i - size + 1;
    }
    return -1;
  }
  const isPattern = (value) => {
    const marked = value[match];
    if (marked !== undefined) return !!marked;
    try { sourceOf(value); return true; } catch { return value === prototype; }
  };
  const searches = {
    __proto__: null,
    indexOf: (text, part, from) => placeOf(text, part, min(max(trunc(+from) || 0, 0), text.length), false),
    lastIndexOf(text, part, from) {
      const last = +from;
      return placeOf(text, part, last !== last ? text.length : max(trunc(last), 0), true);
    },
    includes: (text, part, from) => placeOf(text, part, min(max(trunc(+from) || 0, 0), text.length), false) >= 0,
  };
  for (const name in searches) {
    const original = String.prototype[name], search = searches[name];
    const guarded = (self, part, from) => {
      const text = plain(self);
      if (name === "includes" && typeof part === "object" && part !== null && isPattern(part)) return apply(original, "", [/ /]);
      const wanted = typeof part === "string" ? part : textOf(part);
      if (typeof text !== "string" || wanted.length * text.length <= MOST_STEPS) return apply(original, text, [wanted, from]);
      return wanted.length > text.length ? apply(original, "", ["a", from]) : search(text, wanted, from);
    };
    // As in arrays.js.
    const method = (0, eval)(`"use strict"; (native, guarded) => ({ ${name}(a, b) {
      if (typeof this === "string" && typeof a === "string" && a.length * this.length <= ${MOST_STEPS}) return native(this, a, b);
      return guarded(this, a, b);
    } }).${name}
    //# sourceURL=interpstack:parts`)(uncurry(original), guarded);
    defineProperty(method, "length", { __proto__: null, value: 1 });
    put(String.prototype, name, method);
  }
  const refuseLong = (text, part) => {
    if (typeof text === "string" && typeof part === "string" && text.length * part.length > MOST_PASSED)
      throw new RangeErrorClass("the text and the search text are too long");
  };
  const replaceFirst = String.prototype.replace;
  // A separator or a pattern in the form in which V8 takes it: text, or what has a method for it.
  function sought(value, symbol) {
    if (value === undefined || value === null || typeof value === "string") return value;
    if (typeof value === "object" || typeof value === "function") { const own = value[symbol]; if (own !== undefined && own !== null) return value; }
    return textOf(value);
  }
  put(String.prototype, "replace", { replace(part, value) {
    const wanted = sought(part, replace), text = typeof wanted === "object" || typeof wanted === "function" ? this : plain(this);
    refuseLong(text, wanted);
    return apply(replaceFirst, text, [wanted, value]);
  } }.replace);

  // What V8 or ICU makes anew of a whole text, up to eighteen times as long, and looks at no limit.
  const converts = [
    [String.prototype, "localeCompare", 2 ** 24], [String.prototype, "normalize", 2 ** 22],
    [String.prototype, "toLocaleLowerCase", 2 ** 24], [String.prototype, "toLocaleUpperCase", 2 ** 24],
    [String.prototype, "toLowerCase", 2 ** 25], [String.prototype, "toUpperCase", 2 ** 25],
    [globalThis, "encodeURI", 2 ** 24], [globalThis, "encodeURIComponent", 2 ** 24], [globalThis, "escape", 2 ** 24],
  ];
  function boundText(owner, name, most) {
    const original = owner[name], isMethod = owner !== globalThis;
    const method = { [name](given) {
      const self = isMethod ? plain(this) : this, text = given === undefined ? undefined : plain(given);
      if (isMethod && typeof self === "string" && self.length > most || typeof text === "string" && text.length > most)
        throw new RangeErrorClass("Invalid string length");
      const more = name === "normalize" || name === "localeCompare" || !isMethod;
      if (arguments.length < 2) return arguments.length === 0 ? apply(original, self, []) : apply(original, self, [more ? text : given]);
      return apply(original, self, [more ? text : given, arguments[1], arguments[2]]);
    } }[name];
    defineProperty(method, "length", { __proto__: null, value: original.length });
    put(owner, name, method);
  }
  for (let i = 0; i < converts.length; i++) boundText(converts[i][0], converts[i][1], converts[i][2]);

  // -- JSON --------------------------------------------------------------------------------

  const { parse } = JSON;
  put(JSON, "parse", { parse(given, reviver) {
    const text = textOf(given);
    if (text.length > LONG) {
      let count = occurrences(text, ",", MOST_VALUES);
      count += occurrences(text, "[", MOST_VALUES) + occurrences(text, "{", MOST_VALUES);
      if (count > MOST_VALUES) throw tooMany();
    }
    return parse(text, reviver);
  } }.parse);
}
