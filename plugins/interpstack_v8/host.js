// The host's door into a V8 context: one global function that does nothing without the token.
//
// Evaluated once, after the kernel; takes the kernel and what else of the context only the host
// may have. The guest shares the context afterwards, so the discipline
// of `kernel/intrinsics.js` holds here too.
(kernel, core, limitBuffers, clock, untraced, NAME, SCRIPT) => {
  "use strict";
  const { api, dispatch, next, findFaultsBy, trackRejectionsBy } = kernel;
  // The bare functions: those around them look up what a guest can replace.
  const { op_memory_usage: memoryUsage, op_destructure_error: destructureError } = core.ops;
  const { op_run_microtasks: runJobs, op_drain_pending_rejections: takeRejections, op_is_proxy: isProxy } = core.ops;
  const { evalContext, setUnhandledPromiseRejectionHandler, setHandledPromiseRejectionHandler } = core;
  const { defineProperty, deleteProperty, getOwnPropertyDescriptor, getPrototypeOf } = Reflect;
  const TypeErrorClass = TypeError, StringClass = String;
  const SyntaxErrorClass = SyntaxError;
  const globals = globalThis;
  const indexOf = Function.prototype.call.bind(StringClass.prototype.indexOf);
  const slice = Function.prototype.call.bind(StringClass.prototype.slice);
  const uncurry = Function.prototype.bind.bind(Function.prototype.call), MapClass = Map;
  const mapSet = uncurry(Map.prototype.set), mapDelete = uncurry(Map.prototype.delete), mapClear = uncurry(Map.prototype.clear);
  const mapForEach = uncurry(Map.prototype.forEach), mapSize = uncurry(getOwnPropertyDescriptor(Map.prototype, "size").get);
  const HEAD = "(function () {";
  const TAIL = "\n#("; // a fault of its own, so that what comes before it is never run
  const RECORDED = 16384; // characters of one cell's console output
  let token = "", record, park, deliver, room = 0, late = 0;

  // V8 tells where a syntax error is only if the error has no stack; so compile once more,
  // without running anything.
  function locate(error, source) {
    try {
      if (getPrototypeOf(error) !== SyntaxErrorClass.prototype || indexOf(error.stack, SCRIPT) >= 0) return undefined;
      return placeOf(source);
    } catch {
      return undefined; // it is no error of V8's, or keeps its place to itself
    }
  }
  findFaultsBy(locate);
  // Promises that were rejected and that no code handles. deno_core hands a rejection over once, and tells
  // of a handler that comes later.
  const MOST_REJECTED = 1000;
  const rejected = new MapClass();
  const noteRejection = (promise, reason) => {
    if (mapSize(rejected) < MOST_REJECTED) mapSet(rejected, promise, reason);
    return true; // it is no error of the command
  };
  const noteRejections = () => {
    const taken = takeRejections(); // promise, reason, context; promise, …
    if (taken === undefined) return;
    for (let i = 0; i < taken.length && i < 3 * MOST_REJECTED; i += 3) noteRejection(taken[i], taken[i + 1]);
  };
  setHandledPromiseRejectionHandler((promise) => { mapDelete(rejected, promise); });
  kernel.compareBuiltins();
  kernel.recognizeProxiesBy(isProxy);
  trackRejectionsBy({
    __proto__: null,
    forget() { mapClear(rejected); },
    reasons() {
      const found = { __proto__: null, length: 0 };
      mapForEach(rejected, (reason) => { found[found.length++] = reason; });
      return found;
    },
  });
  // The first fault, or that of the whole where it is none of a single token.
  function placeOf(source) {
    let lines = 1;
    for (let at = indexOf(source, "\n"); at >= 0; at = indexOf(source, "\n", at + 1)) lines++;
    const first = faultOf(source + TAIL); // V8 has no place for a few faults, and says line 0
    const fault = first === undefined || first.lineNumber > lines ? faultOf(HEAD + source + "\n})") : first;
    if (fault === undefined || typeof fault.lineNumber !== "number") return undefined;
    const column = fault.columnNumber - (fault !== first && fault.lineNumber === 1 ? HEAD.length : 0);
    return "[" + fault.lineNumber + "," + column + "]";
  }
  function faultOf(text) {
    const error = untraced(() => evalContext(text, SCRIPT)[1]?.thrown); // nothing is wrong with a text that parses
    return error === undefined ? undefined : destructureError(error).frames[0];
  }
  // jsrun reads what a command answered after it has run the jobs that were left behind. Unless the
  // command was short, jsrun hands it over up to 10 ms late; then the host is notified directly.
  const answer = (said) => ({
    __proto__: null,
    get answer() {
      const text = said === undefined ? inJob(() => dispatch('["drain"]')) : said;
      const { heapUsed, external } = memoryUsage();
      if (clock() < late) return [text, heapUsed, external];
      deliver(text, heapUsed, external);
      return null;
    },
  });
  const door = (given, kind, text, heard) => {
    if (given !== token || token === "") throw new TypeErrorClass(NAME + " is reserved by the interpreter");
    if (kind === "park") {
      park();
      return undefined;
    }
    late = kind === "begin" ? 0 : clock() + 1; // what begins a cell comes to a cold processor
    if (kind === "say") return settled(inJob(() => dispatch(text)));
    // Of a cell that somebody listens to, the host takes what it printed with every answer.
    if (kind === "begin" || (kind === "resume" && heard === true)) room = RECORDED;
    if (kind !== "look") inJob(() => dispatch(text));
    return settled(undefined);
  };
  // All of the guest's code runs in jobs. Where V8 stops a job, it drops the jobs that wait; those of a
  // script that it stops would run afterwards, and no limit holds for them.
  const inJob = (code) => {
    let said, thrown, ended = false;
    later(() => {
      try {
        said = code();
      } catch (error) {
        thrown = { __proto__: null, error };
      }
      ended = true;
    });
    runJobs();
    if (thrown !== undefined) throw thrown.error;
    if (!ended) throw new TypeErrorClass("no job of the guest's runs");
    return said;
  };
  const later = async (code) => {
    await undefined;
    code();
  };
  // deno_core passes all promises that were rejected meanwhile to one call, as arguments, and some
  // 30,000 overflow the stack. So the jobs run here, and what they reject is taken one by one.
  const settled = (said) => {
    do {
      runJobs();
      noteRejections();
    } while (inJob(next));
    return answer(said);
  };
  // Called once, before any guest code.
  const enter = (secret, bytes, ops, leftovers) => {
    const { ops: inner, createTimer } = globals.__bootstrap.core;
    const callHost = inner.op_jsrun_call_python_sync;
    // With nothing to wait for, the event loop takes a module that awaits a request for stuck.
    createTimer(() => {}, 2147483647, undefined, true, true);
    for (let i = 0; i < leftovers.length; i++) deleteProperty(globals, leftovers[i]);
    // jsrun looks it up after each command, and must not meet what a guest put behind its global.
    defineProperty(globals, "ReadableStream", { __proto__: null, value: undefined, writable: true, enumerable: false, configurable: true });
    api.loaded("ReadableStream", undefined); // it is not a variable of the guest's
    kernel.forgetAbsent();
    setUnhandledPromiseRejectionHandler(noteRejection); // those of modules
    limitBuffers(bytes);
    park = () => { callHost(ops.park, []); };
    record = (line) => { callHost(ops.record, [line]); };
    deliver = (text, heap, buffers) => { callHost(ops.deliver, [text, heap, buffers]); };
    callHost(ops.meet, []);
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
