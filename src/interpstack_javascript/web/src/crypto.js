// crypto.getRandomValues and crypto.randomUUID.
//
// Deterministic by design: the bytes come from kernel.random, the seeded generator that makes a replay give the
// same values. They are fit for sampling and for unique names, never for keys, tokens or other secrets.
export function createCrypto(kernel, DOMException) {
  const { apply } = Reflect;
  const { floor } = Math;
  const Bytes = Uint8Array;
  const typedArray = Object.getPrototypeOf(Uint8Array.prototype);
  const getter = name => Object.getOwnPropertyDescriptor(typedArray, name).get;
  const kindOf = getter(Symbol.toStringTag);
  const bufferOf = getter("buffer");
  const offsetOf = getter("byteOffset");
  const lengthOf = getter("byteLength");
  const integers = {
    __proto__: null,
    Int8Array: 1, Uint8Array: 1, Uint8ClampedArray: 1, Int16Array: 1, Uint16Array: 1,
    Int32Array: 1, Uint32Array: 1, BigInt64Array: 1, BigUint64Array: 1,
  };

  function fill(bytes, length) {
    let word = 0;
    for (let i = 0; i < length; i++) {
      word = i & 3 ? word >>> 8 : floor(kernel.random() * 4294967296) >>> 0;
      bytes[i] = word;
    }
  }

  class Crypto {
    #brand = true;

    getRandomValues(array) {
      this.#brand;
      const kind = apply(kindOf, array, []);
      if (!kind && !(typeof array === "object" && array !== null && ArrayBuffer.isView(array))) {
        throw new TypeError("crypto.getRandomValues: the argument must be an integer typed array");
      }
      if (!kind || !(kind in integers)) {
        throw new DOMException("The array must be an integer typed array", "TypeMismatchError");
      }
      const length = apply(lengthOf, array, []);
      if (length > 65536) {
        throw new DOMException(`The requested length (${length}) exceeds 65536 bytes`, "QuotaExceededError");
      }
      fill(new Bytes(apply(bufferOf, array, []), apply(offsetOf, array, []), length), length);
      return array;
    }

    randomUUID() {
      this.#brand;
      const bytes = new Bytes(16);
      fill(bytes, 16);
      bytes[6] = (bytes[6] & 0x0f) | 0x40;
      bytes[8] = (bytes[8] & 0x3f) | 0x80;
      const digits = "0123456789abcdef";
      let text = "";
      for (let i = 0; i < 16; i++) {
        if (i === 4 || i === 6 || i === 8 || i === 10) text += "-";
        text += digits[bytes[i] >> 4] + digits[bytes[i] & 15];
      }
      return text;
    }
  }
  Object.defineProperty(Crypto.prototype, Symbol.toStringTag, { value: "Crypto", configurable: true });
  return new Crypto();
}
