// What happens to a fresh context around the sources that are installed in it.
({
  __proto__: null,
  prepare() {
    this.clock = Date.now; // the kernel gives guests another one
    delete globalThis.console;
    // What a callback of its own throws fails the whole command; the web API's reports it.
    delete globalThis.queueMicrotask;
    // Its callbacks would run outside of cells. The language lets them never run.
    globalThis.FinalizationRegistry = class FinalizationRegistry {
      constructor(callback) { if (typeof callback !== "function") throw new TypeError("FinalizationRegistry: a callback is needed"); }
      register() {}
      unregister() { return false; }
    };
    // Web APIs look at shared memory, which guests do not get.
    globalThis.SharedArrayBuffer ??= class SharedArrayBuffer {
      get byteLength() { throw new TypeError("no shared memory"); }
    };
  },
  // Without a date `Intl` reads the host's clock; the guest's has to stand in for it.
  tellTime() {
    if (typeof Intl !== "object") return;
    const { apply, defineProperty, getOwnPropertyDescriptor } = Reflect;
    const formats = Intl.DateTimeFormat.prototype, { now } = this.kernel.api;
    const bound = getOwnPropertyDescriptor(formats, "format"), parts = formats.formatToParts;
    const known = new WeakMap(), get = WeakMap.prototype.get, set = WeakMap.prototype.set;
    const given = (date) => date === undefined ? now() : date;
    const getFormat = { get format() {
      const original = apply(bound.get, this, []);
      let format = apply(get, known, [original]);
      if (format === undefined) apply(set, known, [original, format = (date) => original(given(date))]);
      return format;
    } };
    defineProperty(formats, "format", { __proto__: null, ...bound, get: getOwnPropertyDescriptor(getFormat, "format").get });
    defineProperty(formats, "formatToParts", { __proto__: null, writable: true, enumerable: false, configurable: true,
      value: { formatToParts(date) { return apply(parts, this, [given(date)]); } }.formatToParts });
  },
  // The kernel's interface, with output going to the host as well; see the end of `host.js`.
  tap() {
    const { write } = this.kernel.api;
    this.api = Object.freeze({
      __proto__: null, ...this.kernel.api, write: (line) => { this.record?.(line); write(line); },
    });
  },
  seal() {
    this.tellTime();
    for (const name of Object.keys(globalThis)) // of jsrun; those of guests show, and no others
      Object.defineProperty(globalThis, name, { __proto__: null, enumerable: false });
    this.kernel.seal();
    delete globalThis.$setup;
  },
})
