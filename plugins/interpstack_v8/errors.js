// Gives a context an `Error` of the guest's, and writes its stack traces.
//
// Runs before all that may keep `Error`. V8's own serves native code: deno_core reads `name`,
// `cause` and `constructor` of whatever inherits from its prototype, also when it reports that a
// guest was stopped, and `name` and `message` of every error whose stack is asked for. A request to
// stop ends one getter in there and is spent; the next one could run for ever. So guests' errors
// inherit from another prototype, V8's own is out of their reach, and traces are written in
// JavaScript, which stops where it is asked to. Takes deno_core's report of an error.
(destructure) => {
  "use strict";
  const { construct, defineProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys, preventExtensions, setPrototypeOf } = Reflect;
  const uncurry = Function.prototype.bind.bind(Function.prototype.call);
  const { create, freeze } = Object;
  const globals = globalThis, Native = Error, native = Native.prototype;
  const syntax = SyntaxError.prototype, StringFunction = String, decode = decodeURIComponent;
  const startsWith = uncurry(String.prototype.startsWith), endsWith = uncurry(String.prototype.endsWith);
  const hide = (owner, key, value) =>
    defineProperty(owner, key, { __proto__: null, value, writable: true, enumerable: false, configurable: true });
  const lock = (owner, key, value) =>
    defineProperty(owner, key, { __proto__: null, value, writable: false, enumerable: false, configurable: false });

  Native.prepareStackTrace = (error, frames) => frames;
  const frame = getPrototypeOf(new Native("").stack[0]);
  delete Native.prepareStackTrace;

  // -- the guest's own -----------------------------------------------------------------------

  const Own = { Error: function (message) { // named for its length
    const made = construct(Native, arguments, new.target === undefined ? Own : new.target);
    if (getPrototypeOf(made) === native) setPrototypeOf(made, own); // the target has no prototype
    return made;
  } }.Error;
  const own = create(getPrototypeOf(native));
  for (const key of ownKeys(native)) hide(own, key, native[key]);
  hide(own, "constructor", Own);
  lock(Own, "prototype", own);
  for (const key of ownKeys(Native))
    if (getOwnPropertyDescriptor(Own, key) === undefined) hide(Own, key, Native[key]);
  defineProperty(Own, "stackTraceLimit", {
    __proto__: null,
    get: () => Native.stackTraceLimit,
    set(value) { if (typeof value === "number") Native.stackTraceLimit = value; },
    enumerable: true, configurable: true,
  });
  for (const key of ownKeys(globals)) {
    const Kind = getOwnPropertyDescriptor(globals, key).value;
    if (typeof Kind !== "function" || getPrototypeOf(Kind) !== Native) continue;
    setPrototypeOf(Kind, Own);
    setPrototypeOf(Kind.prototype, own);
  }
  // Native code looks `prepareStackTrace` up behind the global.
  lock(globals, "Error", Own);

  // -- V8's own ------------------------------------------------------------------------------

  lock(Native, "name", "Error");
  preventExtensions(Native); // not frozen: V8 reads the limit here
  setPrototypeOf(native, null);
  freeze(native);

  // -- stack traces, as V8 documents their form ------------------------------------------------

  const of = { __proto__: null };
  for (const key of ownKeys(frame)) of[key] = uncurry(frame[key]);

  // The kernel's, for the frames that guests see, and their places.
  let frameOf = (frame) => frame;
  function written(error, frames) {
    let text = "";
    try { text = title(error.name, error.message); } catch { /* it keeps them to itself */ }
    if (frames.length === 0) text += faultOf(error);
    for (let i = 0; i < frames.length; i++) {
      const shown = frameOf("    at " + line(frames[i]));
      if (shown !== undefined) text += "\n" + shown;
    }
    return text;
  }
  // Where a module does not parse: V8 keeps the place with the error, which has no frames. Only errors
  // are read of which no guest code can answer.
  let reading = false;
  function faultOf(error) {
    if (reading || getPrototypeOf(error) !== syntax) return "";
    const keys = ownKeys(error);
    for (let i = 0; i < keys.length; i++) if (keys[i] !== "stack" && keys[i] !== "message") return "";
    if (typeof getOwnPropertyDescriptor(error, "message")?.value !== "string") return "";
    if (!setPrototypeOf(error, native)) return ""; // it is frozen
    reading = true;
    try {
      const at = destructure(error).frames[0];
      const file = StringFunction(at?.fileName);
      if (!startsWith(file, "module:") || typeof at.columnNumber !== "number") return "";
      return "\n    at " + decode(file) + ":" + at.lineNumber + ":" + at.columnNumber;
    } catch {
      return "";
    } finally {
      setPrototypeOf(error, syntax);
      reading = false;
    }
  }
  function title(name, message) {
    const kind = name === undefined ? "Error" : StringFunction(name);
    const said = message === undefined ? "" : StringFunction(message);
    return kind === "" || said === "" ? kind + said : kind + ": " + said;
  }
  function line(site) {
    const place = placeOf(site);
    const asynchronous = of.isAsync(site) ? "async " : "";
    if (of.isPromiseAll(site)) return asynchronous + "Promise.all (index " + of.getPromiseIndex(site) + ")";
    const name = callOf(site, of.getFunctionName(site));
    return asynchronous + (name === "" ? place : name + " (" + place + ")");
  }
  function callOf(site, name) {
    if (of.isConstructor(site)) return "new " + (name || "<anonymous>");
    if (of.isToplevel(site)) return name || "";
    const type = of.getTypeName(site) || "", method = of.getMethodName(site) || "";
    const owner = type === "" ? "" : type + ".";
    if (!name) return owner + (method || "<anonymous>");
    return (startsWith(name, type) ? "" : owner) + name
      + (method !== "" && !endsWith(name, method) ? " [as " + method + "]" : "");
  }
  function placeOf(site) {
    if (of.isNative(site)) return "native";
    const at = of.getLineNumber(site), column = of.getColumnNumber(site);
    return fileOf(site) + (at === null ? "" : ":" + at + (column === null ? "" : ":" + column));
  }
  function fileOf(site) {
    const file = of.getScriptNameOrSourceURL(site);
    if (!file) return (of.isEval(site) ? of.getEvalOrigin(site) + ", " : "") + "<anonymous>";
    try { return decode(file); } catch { return file; } // modules have URLs
  }
  lock(Own, "prepareStackTrace", freeze(written));

  return {
    __proto__: null,
    writtenBy(given) { frameOf = given; },
    // An error that no guest has seen, made without a trace, for native code to read; `undefined` for none.
    untraced(make) {
      const limit = Native.stackTraceLimit;
      Native.stackTraceLimit = 0;
      let error;
      try {
        error = make();
      } finally {
        Native.stackTraceLimit = limit;
      }
      if (error !== undefined) setPrototypeOf(error, native);
      return error;
    },
  };
}
