// The host's door into a V8 context: one global function that does nothing without the token.
//
// Evaluated once, after the kernel; takes the kernel and what else of the context only the host
// may have. The guest shares the context afterwards, so the discipline
// of `kernel.js` holds here too.
(kernel, core, limitBuffers, NAME, SCRIPT) => {
  "use strict";
  const { dispatch, track, reject } = kernel;
  // The bare functions: those around them look up what a guest can replace.
  const { op_memory_usage: memoryUsage, op_destructure_error: destructureError } = core.ops;
  const { evalContext, setUnhandledPromiseRejectionHandler } = core;
  const { defineProperty, deleteProperty, getOwnPropertyDescriptor, getPrototypeOf } = Reflect;
  const PromiseClass = Promise, TypeErrorClass = TypeError, StringClass = String;
  const ErrorClass = Error, SyntaxErrorClass = SyntaxError;
  const globals = globalThis, evaluate = eval;
  const indexOf = Function.prototype.call.bind(StringClass.prototype.indexOf);
  const slice = Function.prototype.call.bind(StringClass.prototype.slice);
  const HEAD = "(function () {";
  const RECORDED = 16384; // characters of one cell's console output
  let token = "", record, park, room = 0;

  // Run a cell. Its value goes to the kernel: as it is, or as the promise the transform made.
  function run(source, awaits) {
    let value;
    try {
      value = evaluate(source + "\n//# sourceURL=" + SCRIPT);
      if (awaits) track(value);
    } catch (error) {
      locate(error, source);
      reject(error);
      return;
    }
    if (!awaits) track(new PromiseClass((resolve) => { resolve({ __proto__: null, value }); }));
  }
  // V8 tells where a syntax error is only if the error has no stack; so compile once more,
  // without running anything.
  function locate(error, source) {
    try {
      if (getPrototypeOf(error) !== SyntaxErrorClass.prototype) return;
      const stack = error.stack;
      if (indexOf(stack, SCRIPT) >= 0) return;
      const place = placeOf(source);
      if (place !== "") defineProperty(error, "stack", { __proto__: null, value: stack + "\n    at " + place });
    } catch { /* it is no error of V8's, or keeps its place to itself */ }
  }
  function placeOf(source) {
    const limit = getOwnPropertyDescriptor(ErrorClass, "stackTraceLimit");
    if (limit === undefined || limit.configurable !== true) return "";
    defineProperty(ErrorClass, "stackTraceLimit", { __proto__: null, value: 0 });
    const found = evalContext(HEAD + source + "\n})", "guest:");
    defineProperty(ErrorClass, "stackTraceLimit", limit);
    const told = destructureError(found[1].thrown).frames[0];
    if (typeof told.lineNumber !== "number") return "";
    const column = told.columnNumber - (told.lineNumber === 1 ? HEAD.length : 0);
    return SCRIPT + ", <anonymous>:" + told.lineNumber + ":" + column;
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
    if (kind === "park") {
      park();
      return undefined;
    }
    if (kind === "say") return dispatch(text);
    if (kind === "begin") room = RECORDED;
    if (kind !== "look") dispatch(text);
    if (kind === "begin") run(source, awaits);
    return progress;
  };
  // Called once, before any guest code.
  const enter = (secret, bytes, parkOp, recordOp, leftovers) => {
    const { ops, createTimer } = globals.__bootstrap.core;
    const callHost = ops.op_jsrun_call_python_sync;
    // With nothing to wait for, the event loop takes a module that awaits a request for stuck.
    createTimer(() => {}, 2147483647, undefined, true, true);
    for (let i = 0; i < leftovers.length; i++) deleteProperty(globals, leftovers[i]);
    // jsrun looks it up after each command, and must not meet what a guest put behind its global.
    defineProperty(globals, "ReadableStream", { __proto__: null, value: undefined, writable: true, enumerable: false, configurable: true });
    setUnhandledPromiseRejectionHandler(() => true);
    limitBuffers(bytes);
    park = () => { callHost(parkOp, []); };
    record = (line) => { callHost(recordOp, [line]); };
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
