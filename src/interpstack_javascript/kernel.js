// The guest's side of the engine protocol, for every JavaScript engine.
//
// Evaluates to a function; calling it once installs the kernel and returns
//   dispatch(text) -> text   host commands, see `commands` below
//   track(promise)           watch the promise of the running cell; it resolves to {value}
//   reject(reason, place)    the cell could not even be started; `place` is "[line,column]" or undefined
//   api                      what guest sources (console, web APIs) build upon
//   seal()                   called once when all guest sources are installed
//
// Untrusted code runs in the same realm afterwards. So nothing here looks up a property that
// such code could have replaced: intrinsics are captured first; no spread, no for-of, no array
// destructuring, no method calls on values; own lists and tables have no prototype.
() => {
  "use strict";
  const globals = globalThis;
  const { apply, construct, defineProperty, deleteProperty, getOwnPropertyDescriptor,
    getPrototypeOf, ownKeys } = Reflect;
  const uncurry = Function.prototype.bind.bind(Function.prototype.call);
  const getter = (object, key) => {
    const found = getOwnPropertyDescriptor(object, key);
    return found === undefined ? undefined : found.get;
  };
  const ObjectClass = Object, PromiseClass = Promise, ErrorClass = Error, TypeErrorClass = TypeError;
  const RangeErrorClass = RangeError, DateClass = Date, MapClass = Map, SetClass = Set;
  const BigIntClass = BigInt, Bytes = Uint8Array, NumberClass = Number, StringClass = String;
  const { isArray } = Array;
  const { keys, freeze, preventExtensions, setPrototypeOf } = Object;
  const { parse, stringify } = JSON;
  const { floor } = Math;
  const { isView } = ArrayBuffer;
  const promiseThen = Promise.prototype.then;
  const objectToString = Object.prototype.toString;
  const objectPrototype = Object.prototype, arrayPrototype = Array.prototype, regexpPrototype = RegExp.prototype;
  const isPrototypeOf = Object.prototype.isPrototypeOf;
  const propertyIsEnumerable = uncurry(Object.prototype.propertyIsEnumerable);
  const lookupGetter = uncurry(Object.prototype.__lookupGetter__), lookupSetter = uncurry(Object.prototype.__lookupSetter__);
  const functionToString = uncurry(Function.prototype.toString);
  const slice = uncurry(String.prototype.slice);
  const indexOf = uncurry(String.prototype.indexOf);
  const charCode = uncurry(String.prototype.charCodeAt);
  const join = uncurry(Array.prototype.join);
  const symbolToString = uncurry(Symbol.prototype.toString);
  const dateTime = uncurry(Date.prototype.getTime);
  const dateISO = uncurry(Date.prototype.toISOString);
  const dateText = uncurry(Date.prototype.toString);
  const mapForEach = uncurry(Map.prototype.forEach), mapSet = uncurry(Map.prototype.set);
  const setForEach = uncurry(Set.prototype.forEach), setAdd = uncurry(Set.prototype.add);
  const mapSize = uncurry(getter(Map.prototype, "size"));
  const setSize = uncurry(getter(Set.prototype, "size"));
  const bigintText = uncurry(BigInt.prototype.toString);
  const regexpSource = uncurry(getter(RegExp.prototype, "source"));
  const regexpFlags = ["hasIndices", "global", "ignoreCase", "multiline", "dotAll", "unicode", "unicodeSets", "sticky"];
  const regexpFlag = {}; // per letter: whether an expression has the flag
  for (let i = 0; i < 8; i++) regexpFlag["dgimsuvy"[i]] = uncurry(getter(RegExp.prototype, regexpFlags[i]));
  setPrototypeOf(regexpFlag, null);
  const bufferLength = uncurry(getter(ArrayBuffer.prototype, "byteLength"));
  const typedPrototype = getPrototypeOf(Uint8Array.prototype);
  const typedTag = uncurry(getter(typedPrototype, Symbol.toStringTag));
  const typedLength = uncurry(getter(typedPrototype, "length"));
  const typedBuffer = uncurry(getter(typedPrototype, "buffer"));
  const typedOffset = uncurry(getter(typedPrototype, "byteOffset"));
  const typedBytes = uncurry(getter(typedPrototype, "byteLength"));
  const weakMapHas = uncurry(WeakMap.prototype.has), weakSetHas = uncurry(WeakSet.prototype.has);
  const weakRefDeref = uncurry(WeakRef.prototype.deref);
  const valueOfNumber = uncurry(Number.prototype.valueOf);
  const valueOfString = uncurry(String.prototype.valueOf);
  const valueOfBoolean = uncurry(Boolean.prototype.valueOf);
  const valueOfBigint = uncurry(BigInt.prototype.valueOf), valueOfSymbol = uncurry(Symbol.prototype.valueOf);
  const symbolToStringTag = Symbol.toStringTag;
  // An engine's own are fifty times faster; older engines have none.
  const nativeToBase64 = Bytes.prototype.toBase64 && uncurry(Bytes.prototype.toBase64);
  const nativeFromBase64 = Bytes.fromBase64 && uncurry(Bytes.fromBase64);
  const base64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

  function list() { return setPrototypeOf([], null); }
  function table() { return { __proto__: null }; }
  function define(target, key, value, enumerable) {
    defineProperty(target, key,
      { __proto__: null, value, writable: true, enumerable: enumerable === true, configurable: true });
    return target;
  }
  function attempt(action, value) {
    try { return action(value); } catch { return undefined; }
  }
  function hasBrand(action, value) {
    try { action(value); return true; } catch { return false; }
  }

  // -- state of the realm and of the running cell ------------------------------------------

  const limits = { __proto__: null, consoleChars: 4000, valueChars: 16777216, renderChars: 65536, timers: 1000, requests: null };
  const roots = table();      // first parts of bridge names -> what the guest sees there
  const guarded = table();    // those whose global the guest cannot change
  const builtin = table();    // names of globals that are not the guest's own
  let clock = 0;              // what the next reading of the time shows, in ms
  let hostTime = 0;           // host time in ms as of the last poll
  let origin = 0;             // host time when the cell began
  let active = false;         // a cell runs; requests are accepted
  let lastId = 0;             // of a request or timer; unique in the realm, for code may keep those of timers
  let before = -1;            // that of the cell's first request, less 1: the host counts from 1 in each cell
  let pending = table();      // id -> {resolve, reject, site} or {callback}
  let openTimers = 0;
  let requested = 0, uncounted = 0, called = 0, imported = 0; // by the running cell
  let calls = list(), requests = list(), ids = list(), cancelled = list(); // JSON texts, since the last drain
  let drains = 0;             // how often that was
  let completion = "";        // JSON text, once the cell has ended
  let script = "", label = ""; // the engine's name for cells in stack traces, and the one to show
  let importing = 0;          // modules that the running cell waits for
  let cell = 0;               // number of the running cell; what belongs to earlier ones is stale

  // -- chance and time come from the host --------------------------------------------------

  let s0 = 1, s1 = 2, s2 = 3, s3 = 4;
  let unmixed = 0;            // rounds until the seed has spread; most cells use no chance at all
  function round() { // sfc32 by Chris Doty-Humphrey, public domain
    const t = (((s0 + s1) | 0) + s3) | 0;
    s3 = (s3 + 1) | 0;
    s0 = s1 ^ (s1 >>> 9);
    s1 = (s2 + (s2 << 3)) | 0;
    s2 = (s2 << 21) | (s2 >>> 11);
    s2 = (s2 + t) | 0;
    return (t >>> 0) / 4294967296;
  }
  function random() {
    for (; unmixed > 0; unmixed--) round();
    return round();
  }
  function seed(a, b, c, d) {
    s0 = a | 0; s1 = b | 0; s2 = c | 0; s3 = d | 0;
    unmixed = 12;
  }
  // As `GuestClock` does it: each reading moves the time, so that a loop that waits for a moment
  // ends; a poll brings it up to the host's, and never back.
  const STEP = 1, LEAD = 100;
  function now() {
    const told = clock;
    clock += STEP;
    return told;
  }
  function tellTime(ms) {
    const lead = clock - hostTime;
    const next = ms + (lead < LEAD ? (lead > 0 ? lead : 0) : LEAD);
    if (next > clock) clock = next;
    hostTime = ms;
  }
  const HostDate = function Date() {
    if (new.target === undefined) return dateText(new DateClass(floor(now())));
    return construct(DateClass, arguments.length === 0 ? [floor(now())] : arguments, new.target);
  };
  defineProperty(HostDate, "length", { __proto__: null, value: 7 });
  defineProperty(HostDate, "prototype", { __proto__: null, value: DateClass.prototype, writable: false });
  define(HostDate, "now", { now() { return floor(now()); } }.now);
  define(HostDate, "parse", DateClass.parse);
  define(HostDate, "UTC", DateClass.UTC);
  define(DateClass.prototype, "constructor", HostDate);
  define(globals, "Date", HostDate);
  // 53 bits, like the function it stands for.
  define(Math, "random", { random() { return (floor(random() * 67108864) * 134217728 + floor(random() * 134217728)) / 9007199254740992; } }.random);

  // -- values: guest to wire ---------------------------------------------------------------

  // Guest code can run while a value is read: getters, traps of proxies, `toJSON`. So a value is
  // read exactly once, into a copy of kernel-made objects that inherit nothing, with tags for what
  // JSON lacks, and only the copy is made into text. What an encoding knows lies in its own `job`,
  // since guest code may begin another one in the middle.
  const Fields = function () {};
  defineProperty(Fields, "prototype", { __proto__: null, value: freeze(table()), writable: false });
  class Items extends Array {}
  setPrototypeOf(Items.prototype, null);
  freeze(Items.prototype);
  freeze(Items);
  const absent = new Fields(); // stands for every `undefined`
  absent.$ = "undefined";

  function encodeValue(value) { return textOfJob(value, newJob(false)); }
  function newJob(quiet) {
    return {
      __proto__: null,
      left: limits.valueChars, // characters of JSON that the value may still have
      deepest: 0,              // levels of objects and lists in the copy, at most
      trail: list(),           // keys from the root to what is read, for messages
      quiet,                   // getters are not run but met, which ends the encoding
      met: false,
    };
  }
  function textOfJob(value, job) {
    const copy = copied(value, 0, job);
    if (job.left < 0) tooLarge();
    const text = isSound(3 * job.deepest + 4) ? stringify(copy) : written(copy);
    if (text.length > limits.valueChars) tooLarge();
    return text;
  }
  // QuickJS pushes each level onto an array of its own, which a guest can tamper with through the
  // prototype of all arrays.
  function isSound(levels) {
    if (getPrototypeOf(arrayPrototype) !== objectPrototype) return false; // a look would run its traps
    for (let i = 0; i < levels; i++) if (i in arrayPrototype) return false;
    return true;
  }
  function written(copy) { // the same text, many times slower
    if (typeof copy !== "object" || copy === null) return stringify(copy);
    let text = "";
    if (isArray(copy)) {
      for (let i = 0; i < copy.length; i++) text += (i === 0 ? "" : ",") + written(copy[i]);
      return "[" + text + "]";
    }
    const names = keys(copy);
    for (let i = 0; i < names.length; i++) text += (i === 0 ? "" : ",") + stringify(names[i]) + ":" + written(copy[names[i]]);
    return "{" + text + "}";
  }
  function refuse(what, depth, job) {
    let path = "$";
    for (let i = 0; i < depth && path.length < 200; i++)
      path += typeof job.trail[i] === "number" ? "[" + job.trail[i] + "]" : "." + job.trail[i];
    throw new TypeErrorClass(what + " (at " + slice(path, 0, 200) + ")");
  }
  function tooLarge() {
    throw new RangeErrorClass("the value is too large to pass to the host: more than " + limits.valueChars + " bytes as JSON");
  }
  function spendChars(job, count) {
    if ((job.left -= count) < 0) tooLarge();
  }
  function tagged(kind, body) {
    const node = new Fields();
    node.$ = kind;
    node.v = body;
    return node;
  }
  // The stack is short: of recursive functions, as few as possible for one level of data. What is
  // most frequent comes first, and is not left to another function: for 1,000 rows, calls and
  // comparisons are what takes the time.
  function copied(value, depth, job) {
    if (typeof value !== "object") return copiedScalar(value, depth, job);
    if (value === null) return null;
    if (depth > job.deepest && (job.deepest = depth) > 190) refuse("the value is nested too deep, or contains itself", depth, job);
    if (isArray(value)) return copiedItems(value, +value.length, depth, job);
    const prototype = getPrototypeOf(value);
    if (prototype !== objectPrototype && prototype !== null) return copiedSpecial(value, depth, job);
    return copiedFields(value, keys(value), depth, job);
  }
  function copiedScalar(value, depth, job) {
    switch (typeof value) {
      case "string":
        spendChars(job, value.length + 2);
        return value;
      case "number":
        if (value - value === 0 && (value !== 0 || 1 / value > 0)) return value;
        spendChars(job, 22);
        return tagged("number", value === 0 ? "-0" : "" + value);
      case "undefined":
        spendChars(job, 16);
        return absent;
      case "bigint": {
        const digits = bigintText(value, 16);
        spendChars(job, digits.length);
        return tagged("bigint", digits);
      }
      case "symbol": return refuse("a symbol cannot be passed to the host", depth, job);
      case "function": return refuse("a function cannot be passed to the host", depth, job);
    }
    return value; // a boolean
  }
  function copiedItems(value, length, depth, job) {
    const made = new Items();
    let chars = length > 0 ? 2 * length : 0; // each with a separator
    if (chars > job.left) tooLarge();
    for (let i = 0; i < length; i++) {
      const item = value[i];
      switch (typeof item) {
        case "string":
          chars += item.length;
          made[i] = item;
          break;
        case "number":
          if (item - item === 0 && (item !== 0 || 1 / item > 0)) { made[i] = item; break; }
          // falls through
        default:
          job.trail[depth] = i;
          made[i] = copied(item, depth + 1, job);
      }
    }
    if ((job.left -= chars) < 0) tooLarge();
    return made;
  }
  function copiedFields(value, names, depth, job) {
    const made = new Fields(), count = names.length;
    let chars = 4 * count;
    for (let i = 0; i < count; i++) {
      const key = names[i];
      if (job.quiet && lookupGetter(value, key) !== undefined) meet(job);
      const item = value[key];
      chars += key.length;
      switch (typeof item) {
        case "string":
          chars += item.length;
          made[key] = item;
          break;
        case "number":
          if (item - item === 0 && (item !== 0 || 1 / item > 0)) { made[key] = item; break; }
          // falls through
        default:
          if (item === undefined && job.quiet && lookupSetter(value, key) !== undefined) meet(job);
          job.trail[depth] = key;
          made[key] = copied(item, depth + 1, job);
      }
    }
    if ((job.left -= chars) < 0) tooLarge();
    return "$" in made ? pairsOf(made, names) : made;
  }
  // An object with a key that would pass for a tag.
  function pairsOf(made, names) {
    const pairs = new Items();
    for (let i = 0; i < names.length; i++) pairs[i] = pairOf(names[i], made[names[i]]);
    return tagged("object", pairs);
  }
  function pairOf(key, item) {
    const pair = new Items();
    pair[0] = key;
    pair[1] = item;
    return pair;
  }
  function copiedSpecial(value, depth, job) {
    const time = attempt(dateTime, value);
    if (time !== undefined) return tagged("date", time === time ? time : null);
    if (hasBrand(mapSize, value)) return tagged("map", copiedPairs(entriesOf(value), depth, job));
    if (hasBrand(setSize, value)) return tagged("set", copiedMembers(itemsOf(value), depth, job));
    const bytes = bytesOf(value);
    if (bytes !== undefined) return tagged("bytes", toBase64(bytes, job));
    if (job.quiet) meetAccessors(value, job);
    if (isError(value)) return copiedError(value, job);
    if (isPromise(value)) refuse("a promise cannot be passed to the host; await it first", depth, job);
    const boxed = unbox(value);
    if (boxed !== undefined) return copied(boxed.value, depth + 1, job);
    const toJSON = value.toJSON;
    job.trail[depth] = "toJSON()";
    if (typeof toJSON === "function") return copied(apply(toJSON, value, [""]), depth + 1, job);
    return copiedFields(value, keys(value), depth, job);
  }
  function copiedPairs(entries, depth, job) {
    const pairs = new Items();
    for (let i = 0; i < entries.length; i += 2) {
      spendChars(job, 5);
      job.trail[depth] = "<key>";
      const key = copied(entries[i], depth + 1, job);
      job.trail[depth] = "<value>";
      pairs[i / 2] = pairOf(key, copied(entries[i + 1], depth + 1, job));
    }
    return pairs;
  }
  function copiedMembers(found, depth, job) {
    const made = new Items();
    spendChars(job, 2 * found.length);
    for (let i = 0; i < found.length; i++) {
      job.trail[depth] = "<item>";
      made[i] = copied(found[i], depth + 1, job);
    }
    return made;
  }
  function copiedError(value, job) {
    const { name, message, stack } = describe(value), node = new Fields();
    spendChars(job, name.length + message.length + stack.length);
    node.name = name;
    node.message = message;
    node.stack = stack;
    return tagged("error", node);
  }
  function meetAccessors(value, job) {
    const names = keys(value);
    for (let i = 0; i < names.length; i++)
      if (lookupGetter(value, names[i]) !== undefined || lookupSetter(value, names[i]) !== undefined) meet(job);
  }
  function meet(job) {
    job.met = true;
    throw new TypeErrorClass("an accessor");
  }
  function entriesOf(map, limit) { // key, value, key, value…
    const entries = list();
    mapForEach(map, (item, key) => {
      if (entries.length === limit) return;
      entries[entries.length] = key;
      entries[entries.length] = item;
    });
    return entries;
  }
  function itemsOf(set, limit) {
    const found = list();
    setForEach(set, (item) => { if (found.length !== limit) found[found.length] = item; });
    return found;
  }
  function isError(value) {
    return attempt((v) => apply(isPrototypeOf, ErrorClass.prototype, [v]), value) === true;
  }
  function isPromise(value) {
    return attempt((v) => apply(isPrototypeOf, PromiseClass.prototype, [v]), value) === true;
  }
  function unbox(value) {
    if (hasBrand(valueOfNumber, value)) return { value: valueOfNumber(value), kind: "Number" };
    if (hasBrand(valueOfString, value)) return { value: valueOfString(value), kind: "String" };
    if (hasBrand(valueOfBoolean, value)) return { value: valueOfBoolean(value), kind: "Boolean" };
    if (hasBrand(valueOfBigint, value)) return { value: valueOfBigint(value), kind: "BigInt" };
    if (hasBrand(valueOfSymbol, value)) return { value: valueOfSymbol(value), kind: "Symbol" };
    return undefined;
  }
  function bytesOf(value) {
    if (hasBrand(bufferLength, value)) return new Bytes(value);
    if (!isView(value)) return undefined;
    if (typedTag(value) === undefined) return undefined; // a DataView
    return new Bytes(typedBuffer(value), typedOffset(value), typedBytes(value));
  }
  function toBase64(bytes, job) {
    const length = typedLength(bytes), size = 4 * floor((length + 2) / 3);
    spendChars(job, size);
    if (nativeToBase64 !== undefined) return nativeToBase64(bytes);
    let text = "";
    for (let i = 0; i < length; i += 3) {
      const b = i + 1 < length ? bytes[i + 1] : 0, c = i + 2 < length ? bytes[i + 2] : 0;
      text += base64[bytes[i] >> 2] + base64[((bytes[i] & 3) << 4) | (b >> 4)]
        + (i + 1 < length ? base64[((b & 15) << 2) | (c >> 6)] : "=") + (i + 2 < length ? base64[c & 63] : "=");
    }
    return text;
  }

  // -- values: wire to guest ---------------------------------------------------------------

  function revive(node) {
    if (typeof node !== "object" || node === null) return node;
    if (isArray(node)) {
      for (let i = 0; i < node.length; i++) define(node, i, revive(node[i]), true);
      return node;
    }
    const names = keys(node);
    for (let i = 0; i < names.length; i++) if (names[i] === "$") return untag(node.$, node.v);
    for (let i = 0; i < names.length; i++) define(node, names[i], revive(node[names[i]]), true);
    return node;
  }
  function untag(kind, body) {
    switch (kind) {
      case "undefined": return undefined;
      case "number": return body === "-0" ? -0 : body === "NaN" ? NaN : body === "Infinity" ? Infinity : -Infinity;
      case "bigint": return body[0] === "-" ? -BigIntClass("0x" + slice(body, 1)) : BigIntClass("0x" + body);
      case "date": return new DateClass(body === null ? NaN : body);
      case "bytes": return fromBase64(body);
      case "map": {
        const map = new MapClass();
        for (let i = 0; i < body.length; i++) mapSet(map, revive(body[i][0]), revive(body[i][1]));
        return map;
      }
      case "set": {
        const set = new SetClass();
        for (let i = 0; i < body.length; i++) setAdd(set, revive(body[i]));
        return set;
      }
      case "object": {
        const object = {};
        for (let i = 0; i < body.length; i++) define(object, body[i][0], revive(body[i][1]), true);
        return object;
      }
      case "error": { // where V8 made it is no business of the guest's
        const error = define(new ErrorClass(), "stack", typeof body.stack === "string" ? body.stack : "");
        return makeError(error, body.name, body.message, table());
      }
    }
    throw new TypeErrorClass("unknown kind of value from the host");
  }
  const base64Codes = new Bytes(128);
  for (let i = 0; i < 64; i++) base64Codes[charCode(base64, i)] = i;
  function fromBase64(text) {
    if (nativeFromBase64 !== undefined) return nativeFromBase64(Bytes, text);
    const padding = text[text.length - 1] !== "=" ? 0 : text[text.length - 2] !== "=" ? 1 : 2;
    const bytes = new Bytes((text.length / 4) * 3 - padding);
    for (let i = 0, at = 0; i < text.length; i += 4) {
      const bits = (base64Codes[charCode(text, i)] << 18) | (base64Codes[charCode(text, i + 1)] << 12)
        | (base64Codes[charCode(text, i + 2)] << 6) | base64Codes[charCode(text, i + 3)];
      bytes[at++] = bits >> 16; // writes past the end of a typed array do nothing
      bytes[at++] = (bits >> 8) & 255;
      bytes[at++] = bits & 255;
    }
    return bytes;
  }
  function makeError(error, name, message, data) {
    const names = keys(data);
    for (let i = 0; i < names.length; i++) define(error, names[i], data[names[i]], true);
    define(error, "message", message);
    return define(error, "name", name);
  }

  // -- rendering, in the notation of Node's inspector --------------------------------------

  // Options: chars, the size at which to stop; depth, the levels to show.
  function inspect(value, options) {
    const chars = options && options.chars || limits.renderChars;
    const view = { __proto__: null, left: chars, depth: options && options.depth || 50, path: list(), cut: false };
    const text = show(value, view, 0);
    if (options) options.cut = view.cut;
    return text;
  }
  function spend(view, text) {
    view.left -= text.length;
    return text;
  }
  function clip(text, view) {
    if (text.length <= view.left) return text;
    view.cut = true;
    return slice(text, 0, view.left > 0 ? view.left : 0);
  }
  function quote(text, view) {
    return spend(view, stringify(clip(text, view)));
  }
  function show(value, view, level) {
    switch (typeof value) {
      case "string": return quote(value, view);
      case "number": return spend(view, value === 0 && 1 / value < 0 ? "-0" : "" + value);
      case "bigint": return spend(view, clip(showBigint(value), view));
      case "symbol": return spend(view, clip(symbolToString(value), view));
      case "object": case "function": break;
      default: return spend(view, "" + value); // undefined, booleans
    }
    if (value === null) return spend(view, "null");
    for (let i = 0; i < view.path.length; i++) if (view.path[i] === value) return spend(view, "[Circular]");
    if (view.left <= 0) {
      view.cut = true;
      return "…";
    }
    const at = view.path.length;
    view.path[at] = value;
    try {
      return showObject(value, view, level);
    } catch (error) {
      return spend(view, "[Throws: " + slice(thrownText(error), 0, 200) + "]");
    } finally {
      view.path.length = at;
    }
  }
  function showBigint(value) {
    // Decimal digits cost quadratic time that no engine interrupts.
    const hex = bigintText(value, 16);
    return hex.length > 20000 ? (hex[0] === "-" ? "-0x" + slice(hex, 1) : "0x" + hex) + "n" : bigintText(value) + "n";
  }
  function showObject(value, view, level) {
    if (typeof value === "function") return withMembers(showFunction(value), value, view, level);
    const array = isArray(value);
    const prototype = getPrototypeOf(value);
    if (!array && prototype === objectPrototype && !(symbolToStringTag in value) && !("callee" in value && isArguments(value))) {
      if (level >= view.depth) return spend(view, "[Object]");
      return "{" + members(value, view, level, list(), 0) + "}";
    }
    if (array) {
      const name = prototype === arrayPrototype ? "" : className(value, prototype, "Array") + "(" + value.length + ") ";
      if (level >= view.depth) return spend(view, "[Array]");
      return name + "[" + items(value, view, level, true) + "]";
    }
    return showSpecial(value, prototype, view, level);
  }
  function isArguments(value) {
    return apply(objectToString, value, []) === "[object Arguments]"
      && getOwnPropertyDescriptor(value, "callee") !== undefined;
  }
  function showSpecial(value, prototype, view, level) {
    const time = attempt(dateTime, value);
    if (time !== undefined) return spend(view, time === time ? dateISO(value) : "Invalid Date");
    if (isError(value)) return showError(value, view, level);
    if (hasBrand(regexpFlag.g, value) && value !== regexpPrototype) return withMembers(showRegexp(value), value, view, level);
    if (level >= view.depth) return spend(view, "[" + className(value, prototype, "Object") + "]");
    const size = attempt(mapSize, value);
    if (size !== undefined) {
      const parts = list(), entries = entriesOf(value, 2 * view.left);
      for (let i = 0; i < size && more(view, i, size); i++) {
        parts[i] = show(entries[2 * i], view, level + 1) + " => " + show(entries[2 * i + 1], view, level + 1);
        view.left -= 8;
      }
      return className(value, prototype, "Map") + "(" + size + ") {" + members(value, view, level, parts, 0) + "}";
    }
    const count = attempt(setSize, value);
    if (count !== undefined) {
      const parts = list(), found = itemsOf(value, view.left);
      for (let i = 0; i < count && more(view, i, count); i++) {
        parts[i] = show(found[i], view, level + 1);
        view.left -= 8;
      }
      return className(value, prototype, "Set") + "(" + count + ") {" + members(value, view, level, parts, 0) + "}";
    }
    if (isView(value) && typedTag(value) !== undefined)
      return className(value, prototype, typedTag(value)) + "(" + typedLength(value) + ") [" + typedItems(value, view) + "]";
    const buffer = attempt(bufferLength, value);
    if (buffer !== undefined) return spend(view, className(value, prototype, "ArrayBuffer") + " {byteLength: " + buffer + "}");
    const boxed = unbox(value);
    if (boxed !== undefined) return "[" + boxed.kind + ": " + show(boxed.value, view, level + 1) + "]";
    if (isPromise(value)) return spend(view, className(value, prototype, "Promise") + " {…}");
    if (hasBrand((v) => weakMapHas(v, view), value)) return spend(view, "WeakMap {<items unknown>}");
    if (hasBrand((v) => weakSetHas(v, view), value)) return spend(view, "WeakSet {<items unknown>}");
    if (hasBrand(weakRefDeref, value)) return "WeakRef {" + show(weakRefDeref(value), view, level + 1) + "}";
    if (isArguments(value)) return "[Arguments] [" + items(value, view, level, false) + "]";
    const name = prototype === null ? "[Object: null prototype]" : className(value, prototype, "Object");
    const tag = attempt((v) => v[symbolToStringTag], value);
    const shown = typeof tag === "string" && tag !== "" && tag !== name ? name + " [" + slice(tag, 0, 80) + "]" : name;
    return spend(view, (shown === "Object" ? "" : shown + " ") + "{") + members(value, view, level, list(), 0) + "}";
  }
  function showRegexp(value) {
    let text = "/" + regexpSource(value) + "/";
    for (let i = 0; i < 8; i++) if (regexpFlag["dgimsuvy"[i]](value)) text += "dgimsuvy"[i];
    return text;
  }
  function className(value, prototype, fallback) {
    for (let at = prototype, i = 0; at !== null && i < 20; i++) {
      const made = getOwnPropertyDescriptor(at, "constructor");
      if (made !== undefined && typeof made.value === "function") {
        const name = getOwnPropertyDescriptor(made.value, "name");
        if (name !== undefined && typeof name.value === "string" && name.value !== "") return slice(name.value, 0, 80);
      }
      at = getPrototypeOf(at);
    }
    return fallback;
  }
  function showFunction(value) {
    const source = attempt(functionToString, value);
    const described = getOwnPropertyDescriptor(value, "name");
    const name = described !== undefined && typeof described.value === "string" ? slice(described.value, 0, 80) : "";
    if (typeof source === "string" && slice(source, 0, 5) === "class" && !isIdentifier(source[5])) {
      const base = getPrototypeOf(value);
      const parent = typeof base === "function" ? getOwnPropertyDescriptor(base, "name") : undefined;
      const extended = parent !== undefined && typeof parent.value === "string" && parent.value !== ""
        ? " extends " + slice(parent.value, 0, 80) : "";
      return "[class " + (name || "(anonymous)") + extended + "]";
    }
    const tag = attempt((v) => v[symbolToStringTag], value);
    const kind = typeof tag === "string" && tag !== "" ? slice(tag, 0, 40) : "Function";
    return "[" + kind + (name === "" ? " (anonymous)" : ": " + name) + "]";
  }
  function showError(value, view, level) {
    const error = describe(value);
    const title = error.name + (error.message === "" ? "" : ": " + error.message);
    const text = error.stack === "" ? (level === 0 ? title : "[" + title + "]") : title + "\n" + trimEnd(error.stack);
    if (level >= view.depth) return spend(view, clip(text, view));
    const own = keys(value), parts = list();
    for (let i = 0; i < own.length; i++) {
      const key = own[i];
      if (key === "name" || key === "message" || key === "stack") continue;
      if (more(view, i, own.length)) parts[parts.length] = spend(view, keyText(key) + ": ") + show(value[key], view, level + 1);
    }
    const cause = getOwnPropertyDescriptor(value, "cause");
    if (cause !== undefined && cause.enumerable === false) parts[parts.length] = "[cause]: " + show(cause.value, view, level + 1);
    const errors = getOwnPropertyDescriptor(value, "errors"); // of an AggregateError
    if (errors !== undefined && errors.enumerable === false) parts[parts.length] = "[errors]: " + show(errors.value, view, level + 1);
    return spend(view, clip(text, view)) + (parts.length === 0 ? "" : " {" + join(parts, ", ") + "}");
  }
  function more(view, done, total) {
    if (view.left > 0) return true;
    if (done < total) view.cut = true;
    return false;
  }
  function items(value, view, level, extras) {
    const parts = list(), length = value.length;
    let present = 0;
    for (let i = 0; i < length && more(view, i, length); i++) {
      const item = value[i];
      if (item === undefined && getOwnPropertyDescriptor(value, i) === undefined) {
        // Skip a gap in one step: guests can make arrays of 4 billion holes for nothing.
        const next = nextIndex(value, i, length);
        const holes = next - i;
        i = next - 1;
        parts[parts.length] = spend(view, "<" + holes + " empty item" + (holes === 1 ? "" : "s") + ">");
        continue;
      }
      present++;
      parts[parts.length] = show(item, view, level + 1);
      view.left -= 2;
    }
    return extras ? members(value, view, level, parts, present) : join(parts, ", ");
  }
  function nextIndex(value, from, length) {
    const step = from + 64 < length ? from + 64 : length;
    for (let i = from + 1; i < step; i++) if (getOwnPropertyDescriptor(value, i) !== undefined) return i;
    if (step === length) return length;
    let next = length;
    const names = ownKeys(value);
    for (let i = 0; i < names.length; i++) {
      if (typeof names[i] !== "string") continue;
      const index = +names[i];
      if (index > from && index < next) next = index;
    }
    return next;
  }
  function typedItems(value, view) {
    const parts = list(), length = typedLength(value);
    for (let i = 0; i < length && more(view, i, length); i++) {
      parts[i] = show(value[i], view, 1);
      view.left -= 2;
    }
    return join(parts, ", ");
  }
  // Appends `key: value` for own properties; those of an array come behind its `indices` items.
  function members(value, view, level, parts, indices) {
    const names = ownKeys(value), array = isArray(value);
    for (let i = indices; i < names.length; i++) {
      const key = names[i];
      if (array && typeof key === "string" && isIndex(key)) continue;
      if (!propertyIsEnumerable(value, key)) continue;
      if (!more(view, i, names.length)) break;
      const shown = typeof key === "symbol" ? "[" + symbolToString(key) + "]" : keyText(clip(key, view));
      spend(view, shown);
      let text;
      try {
        text = show(value[key], view, level + 1);
      } catch (error) {
        text = spend(view, "[Throws: " + slice(thrownText(error), 0, 200) + "]");
      }
      parts[parts.length] = shown + ": " + text;
      view.left -= 4;
    }
    return join(parts, ", ");
  }
  function withMembers(text, value, view, level) {
    spend(view, text);
    const inner = level >= view.depth ? "" : members(value, view, level, list(), 0);
    return inner === "" ? text : text + " {" + inner + "}";
  }
  const knownKeys = table(); // keys that need no quotes
  let knownCount = 0;
  function keyText(key) {
    if (knownKeys[key] === true) return key;
    if (key.length > 0 && key.length < 200 && !isDigit(charCode(key, 0))) {
      let plain = true;
      for (let i = 0; i < key.length && plain; i++) plain = isIdentifier(key[i]);
      if (plain && knownCount < 500) {
        knownCount++;
        knownKeys[key] = true;
      }
      if (plain) return key;
    } else if (isIndex(key)) return key;
    return stringify(key);
  }
  function isDigit(code) { return code >= 48 && code <= 57; }
  function isIndex(key) {
    if (key.length === 0 || key.length > 10) return false;
    for (let i = 0; i < key.length; i++) if (!isDigit(charCode(key, i))) return false;
    return key === "0" || key[0] !== "0";
  }
  function isIdentifier(char) {
    if (char === undefined) return false;
    const code = charCode(char, 0);
    return isDigit(code) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 95 || code === 36;
  }
  function trimEnd(text) {
    let end = text.length;
    while (end > 0 && (text[end - 1] === "\n" || text[end - 1] === " ")) end--;
    return slice(text, 0, end);
  }

  // -- errors ------------------------------------------------------------------------------

  function textOf(value, key, fallback) {
    try {
      const found = value[key];
      if (found === undefined || found === null) return fallback;
      return slice(typeof found === "string" ? found : inspect(found, { chars: 2000 }), 0, limits.renderChars);
    } catch {
      return fallback;
    }
  }
  function describe(error) {
    let stack = textOf(error, "stack", "");
    const title = textOf(error, "name", "Error") + ": " + textOf(error, "message", "");
    if (slice(stack, 0, title.length) === title) stack = slice(stack, title.length + 1); // as V8 writes it
    stack = guestFrames(stack);
    return { __proto__: null, name: textOf(error, "name", "Error"), message: textOf(error, "message", ""), stack };
  }
  // A stack without frames of the kernel and of builtins, and with the cell's own name.
  function guestFrames(stack) {
    let text = "", from = 0;
    while (from < stack.length) {
      const found = indexOf(stack, "\n", from), end = found < 0 ? stack.length : found;
      let line = slice(stack, from, end);
      from = end + 1;
      if (indexOf(line, "interpstack:") >= 0 || indexOf(line, "(native)") >= 0
        || indexOf(line, "(<anonymous>)") >= 0 || indexOf(line, "at <eval_async>:") >= 0) continue;
      const own = script === "" ? -1 : indexOf(line, " eval (" + script); // as V8 writes it
      if (own >= 0) line = slice(line, 0, own) + " <cell> (" + slice(line, own + 7);
      const at = script === "" ? -1 : indexOf(line, script);
      if (at >= 0) line = slice(line, 0, at) + label + slice(line, at + script.length);
      const whole = indexOf(line, "at <eval>");
      if (whole >= 0) line = slice(line, 0, whole) + "at <cell>" + slice(line, whole + 9);
      text += (text === "" ? "" : "\n") + line;
    }
    return text;
  }
  function thrownText(error) {
    if (typeof error === "string") return slice(error, 0, limits.renderChars);
    if (!isError(error)) return inspect(error, { chars: 2000, depth: 5 });
    const { name, message } = describe(error);
    return message === "" ? name : name + ": " + message;
  }
  function errorText(reason) {
    const object = typeof reason === "object" && reason !== null && isError(reason);
    const error = object ? describe(reason) : { name: "Error", message: thrownText(reason), stack: "" };
    return '{"name":' + stringify(error.name) + ',"message":' + stringify(error.message)
      + ',"stack":' + stringify(error.stack) + "}";
  }

  // -- requests ----------------------------------------------------------------------------

  function open(quoted, text) {
    ids[requests.length] = ++lastId;
    requests[requests.length] = quoted + "," + text + "]";
    return lastId;
  }
  function request(name, input, quoted = stringify(name), counts = true) {
    return new PromiseClass((resolve, reject) => {
      if (!active) throw new ErrorClass(name + " was called after its cell had ended; await it inside the cell");
      // The host counts and refuses; what is far beyond the limit need not trouble it.
      if (!counts && ++uncounted > 10000) throw new RangeErrorClass(name + ": a cell may make at most 10000 such calls");
      if (counts && limits.requests !== null && ++requested > limits.requests + 64)
        throw makeError(new ErrorClass(), "PTCCallBudgetExceeded", "the cell may make " + limits.requests
          + " calls; this was one more", { __proto__: null, tool: name });
      const text = encodeValue(input);
      const site = new ErrorClass();
      pending[open(quoted, text)] = { __proto__: null, resolve, reject, site };
    });
  }
  function call(name, input) {
    if (!active) return;
    if (++called > 10000) throw new RangeErrorClass(name + ": a cell may make at most 10000 calls without an answer");
    const text = encodeValue(input); // a getter in it may make calls, too
    calls[calls.length] = "[" + stringify(name) + "," + text + "]";
  }
  function timer(ms, callback) {
    if (!active) throw new ErrorClass("a timer was set after its cell had ended");
    const wait = +ms; // read once: it may be an object
    if (openTimers >= limits.timers) throw new RangeErrorClass("too many timers: at most " + limits.timers + " may be open at once");
    openTimers++;
    const id = open('"timer"', "" + (wait > 0 && wait < 2147483647 ? wait : wait > 0 ? 2147483647 : 0));
    pending[id] = { __proto__: null, callback, drains, at: requests.length - 1 };
    return id;
  }
  function clearTimer(timerId) {
    const id = +timerId; // read once: it may be an object
    const entry = pending[id];
    if (entry === undefined || entry.callback === undefined) return;
    delete pending[id];
    openTimers--;
    if (entry.drains === drains) requests[entry.at] = ""; // the host has not heard of it yet
    else cancelled[cancelled.length] = "" + (id - before);
  }
  function sleep(ms) {
    return new PromiseClass((resolve) => { timer(ms, resolve); });
  }
  function report(error) {
    write("Uncaught " + (isError(error) ? inspect(error, { chars: 2000 }) : thrownText(error)));
  }
  // Console output. `printed` keeps its place in memory for good, and each text in it stays short
  // enough for QuickJS to store it in one run, not as a tree. So an engine that can look into
  // memory finds the output of a guest that was stopped in the middle: two counts, of characters
  // that were omitted and of those in `surplus`, then the pieces of the text.
  const PIECES = 32, PIECE_CHARS = 500, FIRST = 2, LAST = FIRST + PIECES - 1;
  const printed = list();
  for (let i = 0; i <= LAST; i++) printed[i] = 1592590336 + i; // found by these numbers
  let piece = FIRST;          // the one that is written to
  let surplus = list();       // what comes after the last piece
  let left = 0, beyond = 0;   // characters there is room for: at once, and after that
  let taken = true;           // the host has it all
  let live = false;           // somebody reads it while the cell runs
  let delivered = 0;          // characters that the host took before, in this cell
  function clearConsole() {
    for (let i = FIRST; i <= LAST; i++) printed[i] = "";
    printed[0] = printed[1] = 0;
    piece = FIRST;
    surplus = list();
    taken = false;
    allot(delivered < limits.consoleChars ? limits.consoleChars - delivered : 0);
  }
  function allot(room) {
    const free = surplus.length > 0 ? 0 : PIECE_CHARS - printed[piece].length;
    left = room < free ? room : free;
    beyond = room - left;
  }
  function write(line) {
    const size = line.length + 1;
    if (size > left) {
      writeParts(line);
    } else {
      left -= size;
      printed[piece] += "\n" + line;
    }
  }
  function writeParts(line) {
    if (taken) clearConsole();
    const room = left + beyond;
    let kept = line.length <= room ? line : slice(line, 0, room > 0 ? room : 0);
    // A cut never falls between the two halves of a character.
    if (kept.length < line.length && kept.length > 0 && (charCode(kept, kept.length - 1) & 0xfc00) === 0xd800)
      kept = slice(kept, 0, kept.length - 1);
    let omitted = line.length - kept.length;
    const shown = kept.length > 0 || room > 0;
    if (!shown) omitted += 1; // its line break
    if (omitted > 0) printed[0] = printed[0] + omitted < 2147483647 ? printed[0] + omitted : 2147483647;
    if (!shown) return;
    store("\n");
    for (let from = 0; from < kept.length; from += PIECE_CHARS) store(slice(kept, from, from + PIECE_CHARS));
    allot(room - kept.length - 1);
  }
  function store(text) {
    const fits = surplus.length === 0 && printed[piece].length + text.length <= PIECE_CHARS;
    if (!fits && (piece === LAST || surplus.length > 0)) {
      surplus[surplus.length] = text;
      printed[1] += text.length;
      return;
    }
    if (!fits) piece++;
    printed[piece] += text;
  }
  function takeConsole() {
    if (taken) return;
    let text = "";
    for (let i = FIRST; i <= piece; i++) text += printed[i];
    text += join(surplus, "");
    if (text !== "" || printed[0] > 0)
      calls[calls.length] = '["console",{"text":' + stringify(slice(text, 1)) + ',"omitted":' + printed[0] + "}]";
    // It stays where it is until the host has it for sure: telling it may take too much memory.
    taken = true;
    delivered += text.length;
    left = beyond = 0;
  }
  // What an import in a cell becomes: the host fetches the module, then the engine has it.
  async function importModule(specifier, names) {
    // No call, so the limit of calls does not hold; each costs the host something nevertheless.
    if (++imported > 1000) throw new RangeErrorClass("import: a cell may make at most 1000 imports");
    const entry = await request("module", "" + specifier, '"module"', false);
    const mine = cell;
    let module;
    importing++;
    try {
      module = await import(entry);
    } catch (error) {
      throw moduleError(error);
    } finally { // not reached when the code is stopped
      if (mine === cell) importing--;
    }
    if (isArray(names)) for (let i = 0; i < names.length; i++) if (!(names[i] in module)) throw missingExport(specifier, names[i], module);
    return module;
  }
  // A file that a module imports is not there: engines word it as below.
  function moduleError(error) {
    if (!isError(error)) return error;
    const { name, message } = describe(error);
    let at = indexOf(message, "Error resolving module ");
    if (at < 0) at = indexOf(message, "Error loading module ");
    const absent = at === 0 && name === "ReferenceError" || at > 0 && name === "TypeError"; // QuickJS, V8
    return absent ? makeError(new ErrorClass(), "SkillNotAvailable", slice(message, at), table()) : error;
  }
  function missingExport(specifier, wanted, module) {
    const names = ownKeys(module), known = list();
    for (let i = 0; i < names.length && i < 50; i++) if (typeof names[i] === "string") known[known.length] = names[i];
    return makeError(new ErrorClass(), "SyntaxError", "the module '" + specifier + "' has no export '" + wanted
      + "'; it exports: " + (join(known, ", ") || "nothing"), table());
  }
  function settleOne(number, failed, body) {
    const id = number + before;
    const entry = pending[id];
    if (entry === undefined) return;
    delete pending[id];
    if (entry.callback !== undefined) {
      openTimers--;
      try { entry.callback(); } catch (error) { attempt(report, error); }
    } else if (failed) {
      entry.reject(makeError(entry.site, body.name, body.message, body.data));
    } else {
      fulfil(entry.resolve, body);
    }
  }
  function fulfil(resolve, value) {
    const inherits = typeof value === "object" && value !== null && getPrototypeOf(value) !== objectPrototype;
    // A `then` that the guest gave to all arrays, for example, must not take the answer over.
    if (inherits) define(value, "then", undefined);
    resolve(value);
    if (inherits) deleteProperty(value, "then");
  }

  // -- what the guest sees of bridges ------------------------------------------------------

  function stub(name, last, awaited, counts) {
    const quoted = stringify(name);
    const made = awaited ? { [last](input) { return request(name, input, quoted, counts); } }[last]
      : { [last](input) { call(name, input); } }[last];
    return freeze(made);
  }
  function bind(offered) {
    const fresh = table();
    for (let i = 0; i < offered.length; i++) {
      const name = offered[i][0];
      let at = fresh, from = 0, dot;
      while ((dot = indexOf(name, ".", from)) >= 0) {
        const part = slice(name, from, dot);
        at = at[part] === undefined ? (at[part] = table()) : at[part];
        from = dot + 1;
      }
      const last = slice(name, from);
      define(at, last, stub(name, last, offered[i][1], offered[i][3] !== false), offered[i][2] !== false);
    }
    const old = keys(roots), names = keys(fresh);
    for (let i = 0; i < old.length; i++) roots[old[i]] = undefined;
    for (let i = 0; i < names.length; i++) {
      roots[names[i]] = freezeTree(fresh[names[i]]);
      if (guarded[names[i]] !== true) reserve(names[i]);
    }
  }
  function freezeTree(node) {
    if (typeof node === "function") return node;
    const names = keys(node);
    for (let i = 0; i < names.length; i++) freezeTree(node[names[i]]);
    return freeze(node);
  }
  function reserve(root) {
    const done = defineProperty(globals, root, {
      __proto__: null, enumerable: false, configurable: false,
      get: () => roots[root],
      set: () => { throw new TypeErrorClass(root + " is reserved by the interpreter; use another name"); },
    });
    builtin[root] = true;
    guarded[root] = done;
    // The guest had a variable of this name before the host offered it; the host's wins.
    if (!done) attempt(() => defineProperty(globals, root, { __proto__: null, value: roots[root] }));
  }

  // -- the cell ----------------------------------------------------------------------------

  function track(promise) {
    const mine = cell;
    // An own `constructor` keeps `then` from looking for a species the guest may have set.
    defineProperty(promise, "constructor", { __proto__: null, value: undefined });
    apply(promiseThen, promise, [(box) => {
      const value = box.value;
      if (typeof value === "object" && value !== null && isPromise(value)
        && settled(value, [(inner) => succeed(inner, mine), (reason) => fail(reason, mine)])) return;
      succeed(value, mine);
    }, (reason) => fail(reason, mine)]);
  }
  // Attach handlers to a promise of the guest; false for what only looks like one.
  function settled(promise, handlers) {
    try {
      apply(promiseThen, promise, handlers);
      return true;
    } catch { /* no promise, or the guest has broken how promises find their class */ }
    try {
      defineProperty(promise, "constructor", { __proto__: null, value: undefined, configurable: true });
      apply(promiseThen, promise, handlers);
      deleteProperty(promise, "constructor");
      return true;
    } catch {
      return false;
    }
  }
  function succeed(value, mine) {
    if (mine !== cell || !active) return;
    let text, handle = false, exact = true, omitted = 0;
    try {
      if (typeof value === "string") {
        text = slice(value, 0, limits.renderChars);
        omitted = value.length - text.length;
      } else {
        const options = { chars: limits.renderChars, depth: 50, cut: false };
        text = inspect(value, options);
        exact = !options.cut;
        omitted = options.cut ? 1 : 0;
        handle = typeof value === "symbol" || typeof value === "function";
        if (text.length > 2 * limits.renderChars) { // many short parts
          omitted = text.length - limits.renderChars;
          text = slice(text, 0, limits.renderChars);
        }
        if (typeof value === "function") text += " arity=" + (attempt((v) => +v.length, value) || 0);
      }
    } catch (error) {
      fail(error, mine);
      return;
    }
    try {
      completion = '{"text":' + stringify(text) + ',"omitted":' + omitted + ',"exact":' + exact + ',"handle":' + handle + ',"undefined":' + (value === undefined) + "}";
    } catch {
      completion = noRoom;
    }
    active = false;
    attempt(keepValue, value);
  }
  // The value of a cell as a variable of the next one, unless the guest has one of that name.
  let valueName = "", lastValue;
  function keepValue(value) {
    if (valueName === "" || value === undefined) return;
    const found = getOwnPropertyDescriptor(globals, valueName);
    if (found !== undefined) {
      const last = found.value;
      if (found.get !== undefined || (last !== lastValue && (last === last || lastValue === lastValue))) return;
    }
    define(globals, valueName, value, true);
    lastValue = value;
  }
  function fail(reason, mine, place) {
    if (mine !== cell || !active) return;
    try {
      completion = '{"error":' + errorText(reason) + (place === undefined ? "" : ',"place":' + place) + "}";
    } catch {
      completion = noRoom; // nothing else makes this fail
    }
    active = false;
  }
  const noRoom = '{"error":{"name":"InternalError","message":"out of memory","stack":""}}';
  function joined(texts) {
    if (texts.length === 0) return "";
    const kept = list();
    for (let i = 0; i < texts.length; i++) if (texts[i] !== "") kept[kept.length] = texts[i];
    texts.length = 0;
    return join(kept, ",");
  }
  function joinedRequests() {
    const kept = list();
    for (let i = 0; i < requests.length; i++) {
      if (requests[i] === "") continue;
      if (before < 0) before = ids[i] - 1;
      kept[kept.length] = "[" + (ids[i] - before); // the text, which may be large, is not copied for it
      kept[kept.length] = requests[i];
    }
    requests.length = 0;
    return join(kept, ",");
  }
  function drain(flush) {
    drains++;
    if (flush || live || completion !== "") takeConsole();
    const text = '{"calls":[' + joined(calls) + '],"requests":[' + joinedRequests() + '],"cancelled":['
      + joined(cancelled) + '],"importing":' + importing + ',"idle":' + (keys(pending).length === 0) + ',"completion":' + (completion === "" ? "null" : completion) + "}";
    completion = "";
    return text;
  }
  function forget() {
    active = false;
    pending = table();
    openTimers = 0;
    requests = list(); cancelled = list();
  }
  function ownNames() {
    const names = ownKeys(globals), own = list();
    for (let i = 0; i < names.length; i++)
      if (typeof names[i] === "string" && !(names[i] in builtin)) own[own.length] = names[i];
    return own;
  }
  // What may follow a path of names: found without running a getter. Only a proxy can notice.
  function memberNames(path) {
    let at = globals;
    for (let i = 0; i < path.length; i++) {
      const found = propertyOf(at, path[i]);
      if (found === undefined || found.get !== undefined || found.set !== undefined) return list();
      at = found.value;
    }
    if (at === undefined || at === null) return list();
    const seen = table(), names = list();
    let owner = ObjectClass(at);
    const indexed = typeof at === "string" || isArray(owner) || isView(owner);
    for (let level = 0; owner !== null && level < 20; level++) {
      const own = indexed && level === 0 ? ["length"] : ownKeys(owner);
      for (let i = 0; i < own.length && names.length < 1000; i++) {
        const name = own[i];
        if (typeof name !== "string" || name.length > 100 || seen[name] === true) continue;
        seen[name] = true;
        names[names.length] = name;
      }
      owner = getPrototypeOf(owner);
    }
    return names;
  }
  function propertyOf(value, key) {
    if (value === undefined || value === null) return undefined;
    for (let at = ObjectClass(value), level = 0; at !== null && level < 20; at = getPrototypeOf(at), level++) {
      const found = getOwnPropertyDescriptor(at, key);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  function lostReason(value) {
    const kind = typeof value === "object" ? className(value, attempt(getPrototypeOf, value) || null, "object") : typeof value;
    return "it is not serializable (type: " + kind + ")";
  }
  function exportValues() {
    const own = ownNames(), parts = list();
    for (let i = 0; i < own.length; i++) {
      const text = exportValue(own[i]);
      if (text !== undefined) parts[parts.length] = stringify(own[i]) + ":" + text;
    }
    return "{" + join(parts, ",") + "}";
  }
  function exportValue(name) {
    const found = getOwnPropertyDescriptor(globals, name);
    if (found === undefined) return undefined; // removed by code that another variable's value runs
    let why = "it is not serializable (type: accessor)"; // it has no value unless its code runs
    if (found.get !== undefined && found.get === lost[name]?.get) why = lost[name].why;
    if (found.get === undefined && found.set === undefined) {
      // Getters in lists run, since a look at each item would take too long; so do proxies.
      const job = newJob(true);
      try {
        return textOfJob(found.value, job);
      } catch {
        if (!job.met) why = lostReason(found.value);
      }
    }
    return '{"$":"lost","v":' + stringify(why) + "}";
  }
  function importValues(values) {
    const names = keys(values);
    for (let i = 0; i < names.length; i++) {
      const name = names[i], value = values[name];
      if (typeof value === "object" && value !== null && value.$ === "lost") missing(name, value.v);
      else define(globals, name, revive(value), true);
    }
  }
  const lost = table(); // variables that were not restored -> {why, get}
  function missing(name, why) {
    const get = () => { throw new ErrorClass("Value for '" + name + "' was not restored because " + why + "."); };
    lost[name] = { __proto__: null, why, get };
    defineProperty(globals, name, {
      __proto__: null, enumerable: true, configurable: true, get,
      set(value) { define(globals, name, value, true); },
    });
  }

  const commands = {
    __proto__: null,
    // What is offered, and how much of it may be used: [["tools.x", awaited, listed?, counted?], …], {limits}
    bind(offered, given) {
      const names = keys(given);
      for (let i = 0; i < names.length; i++) limits[names[i]] = given[names[i]];
      bind(offered);
    },
    // A new cell: its seed as four 32-bit integers; the host's time in ms, the engine's name
    // for scripts in stack traces, the cell's name.
    begin(words, told) {
      forget();
      before = -1;
      calls = list(); completion = "";
      live = told.live === true;
      valueName = typeof told.valueName === "string" ? told.valueName : "";
      if (lastValue === undefined) lastValue = getOwnPropertyDescriptor(globals, valueName)?.value; // restored
      delivered = 0;
      clearConsole();
      requested = uncounted = called = imported = importing = 0;
      cell++;
      active = true;
      clock = hostTime = origin = told.now;
      script = told.script;
      label = told.label;
      seed(words[0], words[1], words[2], words[3]);
    },
    // Answers: [[id, failed, value or {name, message, data}], …].
    resume(ms, answers, tagged) {
      if (taken) clearConsole();
      tellTime(ms);
      for (let i = 0; i < answers.length; i++) {
        const answer = answers[i];
        settleOne(answer[0], answer[1], tagged ? revive(answer[2]) : answer[2]);
      }
    },
    drain: () => drain(false),
    // The end of a cell, whatever became of it.
    end() {
      forget();
      return drain(true);
    },
    names: () => stringify(ownNames()),
    members: (path) => stringify(memberNames(path)),
    values: () => exportValues(),
    load: (values) => importValues(values),
  };
  const dispatch = (text) => {
    const command = setPrototypeOf(parse(text), null); // what is missing must not be inherited
    return apply(commands[command[0]], commands, [command[1], command[2], indexOf(text, '"$":') >= 0]);
  };

  const api = freeze({
    __proto__: null, inspect, write, report, request, call, timer, clearTimer, sleep, random, now,
    timeOrigin: () => origin,
    describe, isError, thrownText,
    define: (name, value) => { define(globals, name, value); },
  });
  function lock(object, key) {
    const found = getOwnPropertyDescriptor(object, key);
    const fixed = { __proto__: null, configurable: false };
    if (found.get === undefined) fixed.writable = false;
    defineProperty(object, key, fixed);
  }
  // On a global object that takes no more variables, later cells could declare none.
  function keepOpen(owner, name) {
    const original = owner[name];
    define(owner, name, { [name](object) {
      if (object === globals) throw new TypeErrorClass("globalThis cannot be closed: later cells declare their variables on it");
      return original(object);
    } }[name]);
  }
  const seal = () => {
    defineProperty(globals, "$mport", { __proto__: null, value: freeze(importModule) });
    // Nothing may be added where every object would inherit it: `then` on it would hijack
    // each promise that resolves to an object, a setter `value` the engine's own boxes.
    preventExtensions(objectPrototype);
    // What `await` looks at; a guest that changes it would lose every answer of the host.
    lock(PromiseClass.prototype, "constructor");
    lock(PromiseClass, Symbol.species);
    // It is given the functions on the stack, the kernel's too; an engine may have its own.
    if (getOwnPropertyDescriptor(ErrorClass, "prepareStackTrace")?.configurable !== false) {
      defineProperty(ErrorClass, "prepareStackTrace",
        { __proto__: null, get() { return undefined; }, set() {}, enumerable: false, configurable: false });
    }
    keepOpen(Object, "freeze");
    keepOpen(Object, "seal");
    keepOpen(Object, "preventExtensions");
    keepOpen(Reflect, "preventExtensions");
    const names = ownKeys(globals);
    for (let i = 0; i < names.length; i++) if (typeof names[i] === "string") builtin[names[i]] = true;
  };
  return { dispatch, track, reject: (reason, place) => fail(reason, cell, place), api, seal };
}
