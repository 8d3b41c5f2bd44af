// The host's door into a V8 context: one global function that does nothing without the token.
//
// Evaluated once, after the kernel, when the snapshot is made; takes the kernel and what else of
// the context only the host may have. The guest shares the context afterwards, so the discipline
// of `kernel.js` holds here too.
(kernel, core, limitBuffers, NAME, SCRIPT) => {
  "use strict";
  const { dispatch, track, reject } = kernel;
  const { evalContext, memoryUsage, destructureError, setUnhandledPromiseRejectionHandler } = core;
  const { defineProperty, deleteProperty, getOwnPropertyDescriptor } = Reflect;
  const PromiseClass = Promise, TypeErrorClass = TypeError, ErrorClass = Error, StringClass = String;
  const globals = globalThis;
  const slice = Function.prototype.call.bind(StringClass.prototype.slice);
  const RECORDED = 16384; // characters of one cell's console output
  let token = "", record, park, room = 0;

  // Run a cell. Its value goes to the kernel: as it is, or as the promise the transform made.
  function run(source, awaits) {
    let found;
    try {
      found = evalContext(source, SCRIPT);
      if (found[1] !== null) {
        if (found[1].isCompileError) locate(found[1].thrown, source);
        reject(found[1].thrown);
        return;
      }
      track(awaits ? found[0] : new PromiseClass((resolve) => { resolve({ __proto__: null, value: found[0] }); }));
    } catch (error) {
      reject(error);
    }
  }
  // V8 tells where a syntax error is only if the error has no stack; so compile once more.
  function locate(error, source) {
    const before = getOwnPropertyDescriptor(ErrorClass, "stackTraceLimit");
    if (before === undefined || before.configurable !== true) return;
    defineProperty(ErrorClass, "stackTraceLimit", { __proto__: null, value: 0, configurable: true });
    const bare = evalContext(source, SCRIPT)[1];
    defineProperty(ErrorClass, "stackTraceLimit", before);
    const told = bare === null ? undefined : destructureError(bare.thrown).frames[0];
    if (told === undefined || typeof told.lineNumber !== "number") return;
    const place = "\n    at " + SCRIPT + ":" + told.lineNumber + ":" + told.columnNumber;
    defineProperty(error, "stack", { __proto__: null, value: error.name + ": " + error.message + place,
      writable: true, enumerable: false, configurable: true });
  }
  // The engine reads this after it has run the jobs that the command left behind.
  const progress = {
    __proto__: null,
    get text() { return dispatch('["drain"]'); },
    get heap() { return memoryUsage().heapUsed; },
    get buffers() { return memoryUsage().external; },
  };
  const door = (given, kind, text, source, awaits) => {
    if (given !== token || token === "") throw new TypeErrorClass(NAME + " is reserved by the interpreter");
    if (kind === "park") return park();
    if (kind === "say") return dispatch(text);
    if (kind === "begin") room = RECORDED;
    dispatch(text);
    if (kind === "begin") run(source, awaits);
    return progress;
  };
  // Called once in each new context made from the snapshot, before any guest code.
  const enter = (secret, bytes, parkOp, recordOp, leftovers) => {
    const call = globals.__host_op_sync__;
    for (let i = 0; i < leftovers.length; i++) deleteProperty(globals, leftovers[i]);
    setUnhandledPromiseRejectionHandler(() => true);
    limitBuffers(bytes);
    park = () => { call(parkOp); };
    record = (line) => { call(recordOp, line); };
    token = secret;
    defineProperty(globals, NAME, { __proto__: null, value: door, writable: false, enumerable: false, configurable: false });
  };
  defineProperty(globals, NAME, { __proto__: null, value: enter, writable: false, enumerable: false, configurable: true });
  // What guest sources write to the console goes to the host at once: a context that runs out of
  // memory can tell nothing afterwards.
  return (line) => {
    if (record === undefined || room <= 0) return;
    const kept = slice(line, 0, room);
    room -= kept.length + 1;
    record(kept);
  };
}
