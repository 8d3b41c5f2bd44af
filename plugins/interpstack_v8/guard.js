// Bounds the memory of array buffers, which V8 keeps outside its heap and its heap limit, and what
// would end the process.
//
// Runs before everything else in a fresh context. Takes V8's own report of its memory; returns a
// function that sets the limit in bytes. `ArrayBuffer` and the typed arrays become wrappers
// around themselves; what makes arrays through species or `from` finds the wrappers too.
(memoryUsage) => {
  "use strict";
  const { apply, construct, defineProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys, setPrototypeOf } = Reflect;
  const uncurry = Function.prototype.bind.bind(Function.prototype.call);
  const RangeErrorClass = RangeError;
  const globals = globalThis;
  const { isArray } = Array;
  const StringFunction = String;
  const MOST_PARTS = 2 ** 27 - 16; // of V8's arrays, with some to spare
  const STEP = 1048576; // bytes after which V8 is asked again
  const typed = getPrototypeOf(Uint8Array.prototype);
  const byteLength = uncurry(getOwnPropertyDescriptor(typed, "byteLength").get);
  const length = uncurry(getOwnPropertyDescriptor(typed, "length").get);
  const bufferLength = uncurry(getOwnPropertyDescriptor(ArrayBuffer.prototype, "byteLength").get);
  let limit = Infinity, room = STEP;

  function take(bytes) {
    if (!(bytes > 0) || (room -= bytes) >= 0) return;
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
    const names = ownKeys(original);
    for (let i = 0; i < names.length; i++)
      defineProperty(wrapper, names[i], getOwnPropertyDescriptor(original, names[i]));
    setPrototypeOf(wrapper, getPrototypeOf(original));
    defineProperty(original.prototype, "constructor", { value: wrapper });
    defineProperty(globals, name, { value: wrapper });
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

  // V8 ends the process where a string has more parts than an array can have.
  const split = String.prototype.split;
  defineProperty(String.prototype, "split", { value: { split(separator, limit) {
    const text = this === undefined || this === null || typeof this === "string" ? this : StringFunction(this);
    if (typeof text === "string" && text.length > MOST_PARTS) throw new RangeErrorClass("Invalid array length");
    return apply(split, text, [separator, limit]);
  } }.split });

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
  return (bytes) => { limit = bytes; };
}
