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
  // The kernel's interface, with output going to the host as well; see the end of `host.js`.
  tap() {
    const { api: { write }, guestFrame } = this.kernel;
    this.traces.writtenBy(guestFrame);
    this.api = Object.freeze({
      __proto__: null, ...this.kernel.api, write: (line) => { this.record?.(line); write(line); },
    });
  },
  seal() {
    for (const name of Object.keys(globalThis)) // of jsrun; those of guests show, and no others
      Object.defineProperty(globalThis, name, { __proto__: null, enumerable: false });
    this.kernel.seal();
    delete globalThis.$setup;
  },
})
