// Bounds the memory of array buffers, and of what else V8 keeps outside its heap and its heap limit.
//
// Runs before everything else in a fresh context. Takes V8's own report of its memory; returns a
// function that sets the limit in bytes. `ArrayBuffer` and the typed arrays become wrappers
// around themselves; what makes arrays through species or `from` finds the wrappers too.
(memoryUsage) => {
  "use strict";
  const { apply, construct, defineProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys, setPrototypeOf } = Reflect;
  const uncurry = Function.prototype.bind.bind(Function.prototype.call);
  const RangeErrorClass = RangeError;
  const Buffer = ArrayBuffer, Items = Array, { fill } = Array.prototype;
  const globals = globalThis;
  const { isArray } = Array;
  const RANGE_BYTES = 65536; // what the first range of dates takes
  const STEP = 1048576; // bytes after which V8 is asked again
  const typed = getPrototypeOf(Uint8Array.prototype);
  const byteLength = uncurry(getOwnPropertyDescriptor(typed, "byteLength").get);
  const length = uncurry(getOwnPropertyDescriptor(typed, "length").get);
  const bufferLength = uncurry(getOwnPropertyDescriptor(ArrayBuffer.prototype, "byteLength").get);
  const LATE_BYTES = 67108864; // below the limit; the host ends a cell that leaves more
  let limit = Infinity, room = STEP;

  // V8 frees buffers late, by chance; it frees those of young garbage once its young heap is full.
  function collectYoung() {
    let garbage;
    for (let i = 0; i < 640; i++) garbage = apply(fill, new Items(8000), [0]);
    return garbage.length;
  }
  function take(bytes) {
    if (!(bytes > 0) || (room -= bytes) >= 0) return;
    if (memoryUsage().external + bytes > limit - LATE_BYTES) collectYoung();
    if (memoryUsage().external + bytes > limit) {
      room = 0;
      throw new RangeErrorClass("Array buffer allocation failed");
    }
    room = STEP;
  }
  function wrap(name, size) {
    const original = globals[name];
    const wrapper = { [name]: function (first, second, third) {
      if (new.target === undefined) return original(first); // throws V8's own error
      if (typeof first === "number") take(size(first, second));
      else if (isArray(first)) take(size(first.length));
      const made = arguments.length > 1
        ? construct(original, [first, second, third], new.target === wrapper ? original : new.target)
        : construct(original, arguments, new.target === wrapper ? original : new.target);
      if (typeof first === "object" && name !== "ArrayBuffer" && !isArray(first)) taken(made, first);
      return made;
    } }[name];
    dress(wrapper, original);
    defineProperty(globals, name, { value: wrapper });
  }
  // Make a wrapper look like what it wraps, and instances of that like its own.
  function dress(wrapper, original) {
    const names = ownKeys(original);
    for (let i = 0; i < names.length; i++)
      defineProperty(wrapper, names[i], getOwnPropertyDescriptor(original, names[i]));
    setPrototypeOf(wrapper, getPrototypeOf(original));
    defineProperty(original.prototype, "constructor", { value: wrapper });
  }
  // A copy of something with a length of its own; views of buffers cost nothing.
  function taken(made, source) {
    try { bufferLength(source); return; } catch { /* no buffer */ }
    take(byteLength(made));
  }
  function before(owner, name, size) {
    const original = owner[name];
    if (typeof original !== "function") return;
    const method = { [name](first, second) {
      take(size(this, first));
      return apply(original, this, arguments);
    } }[name];
    defineProperty(owner, name, { value: method });
  }
  const count = (value, fallback) => typeof value === "number" ? value : fallback;
  const ownSize = (value) => { try { return byteLength(value); } catch { return 0; } };

  wrap("ArrayBuffer", (bytes) => bytes);
  const arrays = ["Int8Array", "Uint8Array", "Uint8ClampedArray", "Int16Array", "Uint16Array", "Int32Array",
    "Uint32Array", "Float16Array", "Float32Array", "Float64Array", "BigInt64Array", "BigUint64Array"];
  for (let i = 0; i < arrays.length; i++) {
    if (typeof globals[arrays[i]] !== "function") continue;
    const width = globals[arrays[i]].BYTES_PER_ELEMENT;
    wrap(arrays[i], (items) => items * width);
  }
  before(ArrayBuffer.prototype, "resize", (buffer, bytes) => count(bytes, 0));
  before(ArrayBuffer.prototype, "transfer", (buffer, bytes) => count(bytes, 0));
  before(ArrayBuffer.prototype, "transferToFixedLength", (buffer, bytes) => count(bytes, 0));
  before(typed, "toSorted", ownSize);
  before(typed, "toReversed", ownSize);
  before(typed, "with", ownSize);
  before(Uint8Array, "fromBase64", (owner, text) => typeof text === "string" ? text.length : 0);
  before(Uint8Array, "fromHex", (owner, text) => typeof text === "string" ? text.length : 0);
  // What ICU keeps for objects of `Intl` V8 does not count. So each holds a buffer of that size, in
  // a private field: what a `WeakMap` holds stays until V8 collects everything.
  class Held extends function (owner) { return owner; } {
    #buffer;
    constructor(owner, bytes) { super(owner); this.#buffer = new Buffer(bytes); }
  }
  class RangeHeld extends function (owner) { return owner; } {
    #buffer;
    static on(owner) { return #buffer in owner; }
    constructor(owner) { super(owner); this.#buffer = new Buffer(RANGE_BYTES); }
  }
  class Segmented extends function (owner) { return owner; } {
    #text;
    static textOf(owner) { return #text in owner ? owner.#text : ""; }
    constructor(owner, text) { super(owner); this.#text = text; }
  }
  const sizes = { __proto__: null, Collator: 4096, DateTimeFormat: 32768, DisplayNames: 4096, DurationFormat: 8192,
    ListFormat: 4096, Locale: 4096, NumberFormat: 4096, PluralRules: 4096, RelativeTimeFormat: 16384, Segmenter: 8192 };
  function meter(name) {
    const original = Intl[name], bytes = sizes[name];
    if (typeof original !== "function") return;
    const wrapper = { [name]: function () {
      take(bytes);
      const made = new.target === undefined ? apply(original, this, arguments)
        : construct(original, arguments, new.target === wrapper ? original : new.target);
      new Held(made, bytes);
      return made;
    } }[name];
    dress(wrapper, original);
    defineProperty(Intl, name, { __proto__: null, value: wrapper });
  }
  function meterRanges(formats, name) {
    const original = formats[name];
    const method = { [name](from, to) {
      const made = apply(original, this, [from, to]);
      if (!RangeHeld.on(this)) {
        take(RANGE_BYTES);
        new RangeHeld(this);
      }
      return made;
    } }[name];
    defineProperty(formats, name, { __proto__: null, value: method });
  }
  function meterSegments() {
    const { segment } = Intl.Segmenter.prototype, iterate = Symbol.iterator;
    const segments = getPrototypeOf(apply(segment, new Intl.Segmenter(), [""]));
    const iterator = segments[iterate];
    const bytesOf = (text) => 4096 + 2 * text.length; // ICU works on a copy
    defineProperty(Intl.Segmenter.prototype, "segment", { __proto__: null, value: { segment(given) {
      const text = `${given}`, bytes = bytesOf(text);
      take(bytes);
      const made = apply(segment, this, [text]);
      new Held(made, bytes);
      new Segmented(made, text);
      return made;
    } }.segment });
    defineProperty(segments, iterate, { __proto__: null, value: { [iterate]() {
      const bytes = bytesOf(typeof this === "object" && this !== null ? Segmented.textOf(this) : "");
      take(bytes);
      const made = apply(iterator, this, []);
      new Held(made, bytes);
      return made;
    } }[iterate] });
  }
  if (typeof Intl === "object") {
    delete Intl.v8BreakIterator;
    for (const name in sizes) meter(name);
    const formats = Intl.DateTimeFormat.prototype;
    if (typeof formats.formatRange === "function") meterRanges(formats, "formatRange");
    if (typeof formats.formatRangeToParts === "function") meterRanges(formats, "formatRangeToParts");
    if (typeof Intl.Segmenter === "function") meterSegments();
  }
  return (bytes) => { limit = bytes; };
}
