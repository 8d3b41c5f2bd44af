// The host's side of a guest's context, inside of it: set-up, and the door for cells.
//
// Evaluated first in a fresh context; the guest shares the context afterwards, so nothing here looks
// up a property that guest code could have replaced. The functions in `host` are of another realm:
// they are called with text and bytes, and never handed out; `isPromise` and `isProxy`, which are native, take values.
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
  let kernel, api, room = 0, pause = 2, looksAgain = false;

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
  // through which cells are entered. Node asks the kernel, and the kernel asks this writer, whatever
  // the guest has put in the place of `Error`.
  const FRAME = ["getFunctionName", "getMethodName", "getTypeName", "getEvalOrigin", "getPromiseIndex",
    "isAsync", "isConstructor", "isEval", "isNative", "isPromiseAll", "isToplevel"];
  const exec = uncurry(RegExp.prototype.exec), PLACE = /^(?:.*\()?(.*?):(\d+)(?::(\d+))?\)?$/s;
  let lineOf, prepare, fileName;
  const questions = { __proto__: null };
  host.writeTraces((error, frames) => frames); // for the set-up alone
  for (const frame of [getPrototypeOf(new ErrorClass("").stack[0])]) {
    lineOf = uncurry(frame.toString);
    for (const name of FRAME) questions[name] = uncurry(frame[name]);
  }
  // A frame as code gets it: what it tells is text and numbers. V8's own would hand out functions and
  // receivers of any frame, those of the host among them.
  class CallSite {
    #text; #answers; #place;
    constructor(frame, text) {
      this.#text = text;
      this.#answers = { __proto__: null };
      for (let i = 0; i < FRAME.length; i++) this.#answers[FRAME[i]] = apply(questions[FRAME[i]], undefined, [frame]);
      const found = exec(PLACE, text);
      this.#place = found === null ? { __proto__: null } : { __proto__: null, file: fileName(found[1]), line: +found[2], column: +(found[3] ?? 1) };
    }
    static {
      for (let i = 0; i < FRAME.length; i++) {
        const name = FRAME[i];
        defineProperty(this.prototype, name, { __proto__: null, value: { [name]() { return this.#answers[name]; } }[name], writable: true, configurable: true });
      }
    }
    getFileName() { return this.#place.file ?? null; }
    getScriptNameOrSourceURL() { return this.#place.file ?? null; }
    getLineNumber() { return this.#place.line ?? null; }
    getColumnNumber() { return this.#place.column ?? null; }
    getThis() {}
    getFunction() {}
    toString() { return this.#text; }
  }
  function shownFrames(frames) {
    const shown = { __proto__: null, length: 0 };
    for (let i = 0; i < frames.length; i++) {
      const line = kernel.guestFrame("    at " + lineOf(frames[i]));
      if (line === undefined || indexOf(line, "(node:") >= 0 || indexOf(line, "at node:") >= 0) continue;
      shown[shown.length++] = { __proto__: null, frame: frames[i], text: slice(line, 7) };
    }
    return shown;
  }
  host.writeTraces((error, frames) => {
    const shown = shownFrames(frames);
    if (typeof prepare === "function") {
      const sites = [];
      for (let i = 0; i < shown.length && indexOf(shown[i].text, "interpstack:") < 0; i++)
        defineProperty(sites, i, { __proto__: null, value: new CallSite(shown[i].frame, shown[i].text), writable: true, enumerable: true, configurable: true });
      return apply(prepare, ErrorClass, [error, sites]);
    }
    let text = "";
    try { text = errorToString(error); } catch { /* it keeps its name to itself */ }
    for (let i = 0; i < shown.length; i++) text += "\n    at " + shown[i].text;
    return text;
  });
  defineProperty(ErrorClass, "prepareStackTrace",
    { __proto__: null, get: () => prepare, set(writer) { prepare = writer; }, enumerable: false, configurable: false });
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
      kernel.compareBuiltins();
      kernel.recognizePromisesBy(host.isPromise); // Node's own functions return promises of its realm
      kernel.recognizeProxiesBy(host.isProxy);
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
      room = RECORDED, pause = 2, looksAgain = false;
      kernel.dispatch(text);
    },
    // Have the host come back soon, by a timer of its own.
    lookAgain() {
      if (looksAgain) return;
      try {
        api.timer(pause, () => { looksAgain = false; });
        looksAgain = true;
        pause = pause < 50 ? 2 * pause : pause;
      } catch { /* the cell has ended, or has as many timers as it may: one of those comes first */ }
    },
    nameFilesBy(naming) { fileName = naming; },
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
