// The host's side of a guest's context, inside of it: set-up, and the door for cells.
//
// Evaluated first in a fresh context; the guest shares the context afterwards, so nothing here looks
// up a property that guest code could have replaced. The functions in `host` are of another realm:
// they are called with text and bytes, and never handed out.
(host, SCRIPT) => {
  "use strict";
  const { apply, defineProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;
  const { freeze } = Object;
  const { print, placeOf } = host;
  const globals = globalThis;
  const TypeErrorClass = TypeError, ReferenceErrorClass = ReferenceError;
  const ErrorClass = Error, SyntaxErrorClass = SyntaxError, RangeErrorClass = RangeError;
  const uncurry = Function.prototype.bind.bind(Function.prototype.call);
  const slice = uncurry(String.prototype.slice), indexOf = uncurry(String.prototype.indexOf), errorToString = uncurry(Error.prototype.toString);
  const RECORDED = 16384; // characters of one cell's console output that the host gets at once
  let kernel, api, room = 0;

  // No guest gets what waits, shares memory, makes code that is not JavaScript, or prints elsewhere.
  for (const name of ["console", "Atomics", "SharedArrayBuffer", "WebAssembly", "Temporal"]) delete globals[name];
  // Its callbacks would run outside of cells. The language lets them never run.
  globals.FinalizationRegistry = class FinalizationRegistry {
    constructor(callback) { if (typeof callback !== "function") throw new TypeErrorClass("FinalizationRegistry: a callback is needed"); }
    register() {}
    unregister() { return false; }
  };
  // Web APIs look at shared memory.
  const noSharedMemory = class SharedArrayBuffer {
    get byteLength() { throw new TypeErrorClass("no shared memory"); }
  };

  // The kernel takes these two where an engine has them; its own are fifty times slower.
  const Bytes = Uint8Array, lends = Bytes.fromBase64 === undefined;
  if (lends) {
    Bytes.prototype.toBase64 = { toBase64() { return host.toBase64(this); } }.toBase64;
    Bytes.fromBase64 = (text) => {
      const padding = text[text.length - 1] !== "=" ? 0 : text[text.length - 2] !== "=" ? 1 : 2;
      const bytes = new Bytes((text.length / 4) * 3 - padding);
      host.fromBase64(bytes, text);
      return bytes;
    };
  }

  // The host gets each line when it is printed: a process that ends can tell nothing afterwards.
  function record(line) {
    if (room <= 0) return;
    const kept = slice(line, 0, room);
    room -= kept.length + 1;
    print(kept);
  }
  // Stack traces as V8 writes them, with places in cells as the user wrote them, and without the frames
  // through which cells are entered. Node looks the writer up behind the global.
  const frame = getPrototypeOf(framesOf()[0]), lineOf = uncurry(frame.toString);
  function framesOf() {
    const { prepareStackTrace } = ErrorClass;
    ErrorClass.prepareStackTrace = (error, frames) => frames;
    const frames = new ErrorClass("").stack;
    ErrorClass.prepareStackTrace = prepareStackTrace;
    return frames;
  }
  const writeTrace = freeze({ prepareStackTrace(error, frames) {
    let text = "";
    try { text = errorToString(error); } catch { /* it keeps its name to itself */ }
    for (let i = 0; i < frames.length; i++) {
      const line = kernel.writtenPlaces(lineOf(frames[i]));
      if (line !== undefined && indexOf(line, "node:vm:") < 0) text += "\n    at " + line;
    }
    return text;
  } }.prepareStackTrace);
  defineProperty(ErrorClass, "prepareStackTrace",
    { __proto__: null, get: () => writeTrace, set() {}, enumerable: false, configurable: false });
  function locate(error, source) {
    try {
      return getPrototypeOf(error) === SyntaxErrorClass.prototype ? placeOf(source) : undefined;
    } catch {
      return undefined; // a proxy that the guest threw
    }
  }
  const kinds = { __proto__: null, SyntaxError: SyntaxErrorClass, RangeError: RangeErrorClass };
  return freeze({
    __proto__: null,
    install(installed) {
      kernel = installed;
      kernel.findFaultsBy(locate);
      globals.SharedArrayBuffer = noSharedMemory;
      const { write } = kernel.api;
      api = freeze({ __proto__: null, ...kernel.api, write: (line) => { record(line); write(line); } });
    },
    get api() { return api; },
    seal() {
      delete globals.SharedArrayBuffer;
      if (lends) {
        delete Bytes.prototype.toBase64;
        delete Bytes.fromBase64;
      }
      const names = ownKeys(globals);
      for (let i = 0; i < names.length; i++) defineProperty(globals, names[i], { __proto__: null, enumerable: false });
      kernel.seal();
    },
    begin(text) {
      room = RECORDED;
      kernel.dispatch(text);
    },
    say: (text) => kernel.dispatch(text),
    resume(text) {
      room = RECORDED;
      kernel.dispatch(text);
    },
    error: (name, message) => new (kinds[name] ?? ErrorClass)(message),
    absent: (why) => new ReferenceErrorClass("Error resolving module " + why),
    refusal: () => new TypeErrorClass("import() works in the text of a cell or a module, not in text that code evaluates"),
  });
}
