// Bounds the memory of array buffers, and of what else V8 keeps outside its heap and its heap limit.
//
// Runs before everything else in a fresh context. Takes V8's own report of its memory; returns a
// function that sets the limit in bytes. `ArrayBuffer` and the typed arrays become wrappers
// around themselves; what makes arrays through species or `from` finds the wrappers too.
(memoryUsage) => {
  "use strict";
  const { apply, construct, defineProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys, setPrototypeOf } = Reflect;
  const uncurry = Function.prototype.bind.bind(Function.prototype.call);
  const RangeErrorClass = RangeError, { random, ceil, trunc } = Math, { iterator: iterate } = Symbol;
  const Buffer = ArrayBuffer, Items = Array, { fill } = Array.prototype;
  const globals = globalThis;
  const RANGE_BYTES = 65536; // what the first range of dates takes
  const STEP = 1048576; // bytes after which V8 is asked again
  const typed = getPrototypeOf(Uint8Array.prototype);
  const byteLength = uncurry(getOwnPropertyDescriptor(typed, "byteLength").get);
  const length = uncurry(getOwnPropertyDescriptor(typed, "length").get);
  const setItems = uncurry(typed.set), arrayItems = Array.prototype[iterate];
  const bufferOf = uncurry(getOwnPropertyDescriptor(typed, "buffer").get);
  const bufferLength = uncurry(getOwnPropertyDescriptor(ArrayBuffer.prototype, "byteLength").get);
  const mostLength = uncurry(getOwnPropertyDescriptor(ArrayBuffer.prototype, "maxByteLength").get);
  const isResizable = uncurry(getOwnPropertyDescriptor(ArrayBuffer.prototype, "resizable").get);
  const LATE_BYTES = 67108864; // below the limit; the host ends a cell that leaves more
  const BUFFER_BYTES = 384; // what V8 keeps outside its heap for any buffer, besides its bytes
  const WEIGHED = 256; // one of so many buffers, by chance, holds the weight of all of them
  const WEIGHT = WEIGHED * BUFFER_BYTES;
  const RESERVED = 65536; // bytes of reserved addresses that weigh as much as a buffer
  const RESIZABLE = 16; // buffers that a resizable one weighs at least: V8 maps its pages
  const INSIDE = 64; // bytes of a typed array that V8 keeps in its heap until code asks for its buffer
  let limit = Infinity, room = STEP, next = WEIGHED;
  let copies = false, counted; // whether a method copies; what a wrapper made and counted meanwhile

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
  // The weight of buffers is bytes of others, which V8 counts, in a private field. Those are
  // resizable: V8 maps them, and nobody touches their pages, so they take no memory.
  class Weighted extends function (owner) { return owner; } {
    #weight;
    static on(owner) { return #weight in owner; }
    constructor(owner, bytes) { super(owner); this.#weight = new Buffer(bytes, { __proto__: null, maxByteLength: bytes }); }
  }
  class Asked extends function (owner) { return owner; } {
    #asked;
    static on(owner) { return #asked in owner; }
  }
  // A guest that knew which buffers hold the weight could drop those alone.
  function weigh(buffer) {
    const times = isResizable(buffer) ? RESIZABLE + ceil(mostLength(buffer) / RESERVED) : 1;
    if (times < WEIGHED && (next -= times) > 0 || limit >= 2 ** 53) return buffer;
    if (times < WEIGHED) next = ceil(random() * 2 * WEIGHED);
    const bytes = times < WEIGHED ? WEIGHT : times * BUFFER_BYTES;
    take(bytes);
    if (!Weighted.on(buffer)) new Weighted(buffer, bytes);
    return buffer;
  }
  function weighItems(items) {
    if (byteLength(items) > INSIDE) weigh(bufferOf(items));
    return items;
  }
  // The buffer of a typed array; V8 makes that of a small one now, if it has not yet.
  function asked(items) {
    const buffer = bufferOf(items);
    if (bufferLength(buffer) > INSIDE || Asked.on(buffer)) return buffer;
    new Asked(buffer);
    return weigh(buffer);
  }
  // How far a buffer can grow: V8 reserves as many addresses, and a process can run out of those.
  function reserved(options) {
    if (typeof options !== "object" && typeof options !== "function" || options === null) return undefined;
    const given = options.maxByteLength;
    if (given === undefined) return undefined;
    const maxByteLength = +given;
    if (maxByteLength > limit) throw new RangeErrorClass("Array buffer allocation failed");
    return { __proto__: null, maxByteLength };
  }
  function wrapBuffer() {
    const wrapper = { ArrayBuffer: function (length, options) {
      if (new.target === undefined) return Buffer(length); // throws V8's own error
      const bytes = +length;
      take(bytes);
      return noted(weigh(construct(Buffer, [bytes, reserved(options)], new.target === wrapper ? Buffer : new.target)));
    } }.ArrayBuffer;
    dress(wrapper, Buffer);
    defineProperty(globals, "ArrayBuffer", { value: wrapper });
  }
  function wrap(name, width) {
    const original = globals[name];
    const wrapper = { [name]: function (first, second, third) {
      if (new.target === undefined) return original(first); // throws V8's own error
      const maker = new.target === wrapper ? original : new.target;
      if (typeof first !== "object" && typeof first !== "function" || first === null) {
        const items = +first;
        take(items * width);
        return noted(weighItems(construct(original, [items], maker)));
      }
      if (isBuffer(first)) return construct(original, [first, second, third], maker); // it costs nothing
      return weighItems(isItems(first) ? copyOf(original, maker, first, width) : filled(original, maker, first, width));
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
  function isBuffer(value) {
    try { bufferLength(value); return true; } catch { return false; }
  }
  function isItems(value) {
    try { byteLength(value); return true; } catch { return false; }
  }
  function copyOf(original, maker, items, width) {
    take(length(items) * width);
    return construct(original, [items], maker);
  }
  // An array of what a list has, or an object like one, whose length is read once: V8 would read that of a
  // proxy, or of a getter, again, and take memory for it. What is iterated over is in V8's heap first.
  function filled(original, maker, list, width) {
    const items = list[iterate];
    if (items !== undefined && items !== null && items !== arrayItems) {
      const made = construct(original, [{ __proto__: null, [iterate]: () => apply(items, list, []) }], maker);
      take(byteLength(made));
      return made;
    }
    const given = +list.length, count = given > 0 ? trunc(given) : 0;
    take(count * width);
    const made = construct(original, [count], maker);
    setItems(made, list);
    return made;
  }
  // Count what a method is about to make, and weigh what it made.
  function around(owner, name, size, weighed) {
    const original = owner[name];
    if (typeof original !== "function") return;
    const method = { [name](...given) {
      take(size(this, given));
      return weighed(apply(original, this, given));
    } }[name];
    defineProperty(method, "length", { __proto__: null, value: original.length });
    defineProperty(owner, name, { value: method });
  }
  function noted(made) {
    if (copies) counted = made;
    return made;
  }
  // A copy is made by the class that its source names, which is a wrapper; or by V8's own, if the source
  // names none. Nobody has counted that one, and its size is known only now.
  function aroundCopy(owner, name, sizeOf, weighed) {
    const original = owner[name];
    const method = { [name](first, second) {
      let made;
      copies = true;
      try {
        made = apply(original, this, [first, second]);
        if (made === counted) return made;
      } finally {
        copies = false;
        counted = undefined;
      }
      take(sizeOf(made));
      return weighed(made);
    } }[name];
    defineProperty(method, "length", { __proto__: null, value: original.length });
    defineProperty(owner, name, { value: method });
  }
  // The length that a method is given, as the number that V8 would make of it, once.
  function lengthIn(buffer, given) {
    if (given.length === 0 || given[0] === undefined) return 0;
    return given[0] = +given[0];
  }
  const ownSize = (value) => { try { return byteLength(value); } catch { return 0; } };
  const textSize = (owner, given) => typeof given[0] === "string" ? given[0].length : 0;

  wrapBuffer();
  const arrays = ["Int8Array", "Uint8Array", "Uint8ClampedArray", "Int16Array", "Uint16Array", "Int32Array",
    "Uint32Array", "Float16Array", "Float32Array", "Float64Array", "BigInt64Array", "BigUint64Array"];
  for (let i = 0; i < arrays.length; i++) {
    if (typeof globals[arrays[i]] !== "function") continue;
    const width = globals[arrays[i]].BYTES_PER_ELEMENT;
    wrap(arrays[i], width);
  }
  around(ArrayBuffer.prototype, "resize", lengthIn, (nothing) => nothing);
  around(ArrayBuffer.prototype, "transfer", lengthIn, weigh);
  around(ArrayBuffer.prototype, "transferToFixedLength", lengthIn, weigh);
  aroundCopy(ArrayBuffer.prototype, "slice", bufferLength, weigh);
  for (const name of ["slice", "map", "filter"]) aroundCopy(typed, name, byteLength, weighItems);
  around(typed, "toSorted", ownSize, weighItems);
  around(typed, "toReversed", ownSize, weighItems);
  around(typed, "with", ownSize, weighItems);
  around(Uint8Array, "fromBase64", textSize, weighItems);
  around(Uint8Array, "fromHex", textSize, weighItems);
  around(typed, "subarray", (items) => (ownSize(items) > 0 && asked(items), 0), (items) => items);
  const { get } = getOwnPropertyDescriptor({ get buffer() { return asked(this); } }, "buffer");
  defineProperty(typed, "buffer", { __proto__: null, get });
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
  // The prototype of segments is found with the first ones, which only this method makes: to make
  // some here would load what ICU knows of all writings, which takes a process 8 ms.
  function meterSegments() {
    const { segment } = Intl.Segmenter.prototype;
    const bytesOf = (text) => 4096 + 2 * text.length; // ICU works on a copy
    let met = false;
    defineProperty(Intl.Segmenter.prototype, "segment", { __proto__: null, value: { segment(given) {
      const text = `${given}`, bytes = bytesOf(text);
      take(bytes);
      const made = apply(segment, this, [text]);
      if (!met) meterIterators(getPrototypeOf(made), bytesOf);
      met = true;
      new Held(made, bytes);
      new Segmented(made, text);
      return made;
    } }.segment });
  }
  function meterIterators(segments, bytesOf) {
    const iterator = segments[iterate];
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
