// The guest's side of the engine protocol, for every JavaScript engine.
//
// Evaluates to a function; calling it once installs the kernel and returns
//   dispatch(text) -> text   host commands, see `commands` below
//   reject(reason)           the cell has failed, as the host knows
//   findFaultsBy(found)      an engine finds syntax errors: found(error, source) -> "[line,column]" of an
//                            error that keeps `source` from being run, or undefined
//   compareBuiltins()        an engine without images: an export names built-ins that code has replaced
//   forgetAbsent()           the engine has removed globals after `seal`: they are no losses
//   trackRejectionsBy(tracker)  an engine tracks rejected promises that no code handles: forget() begins a
//                            cell, reasons() -> their reasons; leave(reason), if there is one, forgets those of
//                            a module that throws, which no code could handle
//   recognizePromisesBy(test) guests get promises of another realm: test(value) -> whether it is one
//   recognizeProxiesBy(test)  an engine recognizes proxies: test(value) -> whether it is one; else an export saves
//                            what a proxy shows
//   next()                   settle one more answer of the last `resume`; false if there is none. The engine
//                            runs the guest's jobs after `resume`, and again after each answer
//   api                      what guest sources (console, web APIs) build upon
//   seal()                   called once when all guest sources are installed
//   guestFrame(line)         a line of a stack trace, "    at …", as guests and users see it: with the cell's
//                            name and places as the user wrote them; undefined for a frame of the kernel, of
//                            a built-in, or of text that preparation added
//   findModulesBy(found)     an engine finds modules itself: entryOf(specifier) -> what to import,
//                            or undefined for modules of the host; isRefusal(error) -> whether there is
//                            no module, or none for code; meta() -> `import.meta` of a cell
//   runningText()            the text of the cell that is evaluated, "" when none is
//   needsNothing()           whether nothing that the host does can let the running cell go on
//
// Untrusted code runs in the same realm afterwards. So nothing here looks up a property that
// such code could have replaced: intrinsics are captured first; no spread, no for-of, no array
// destructuring, no method calls on values; own lists and tables have no prototype.
() => {
  "use strict";
  const globals = globalThis;
  const { apply, construct, defineProperty, deleteProperty, get, getOwnPropertyDescriptor,
    getPrototypeOf, isExtensible, ownKeys } = Reflect;
  const uncurry = Function.prototype.bind.bind(Function.prototype.call);
  const getter = (object, key) => {
    const found = getOwnPropertyDescriptor(object, key);
    return found === undefined ? undefined : found.get;
  };
  const ObjectClass = Object, PromiseClass = Promise, ErrorClass = Error, TypeErrorClass = TypeError;
  const ReferenceErrorClass = ReferenceError, ProxyClass = Proxy, evaluate = eval;
  const RangeErrorClass = RangeError, DateClass = Date, MapClass = Map, SetClass = Set;
  const errorClasses = { __proto__: null, Error, TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError, AggregateError };
  const BigIntClass = BigInt, Bytes = Uint8Array, NumberClass = Number, StringClass = String;
  const { isArray } = Array;
  const { assign, keys, freeze, isFrozen, isSealed, preventExtensions, seal: sealObject, setPrototypeOf } = Object;
  const { parse, stringify } = JSON;
  const { floor } = Math;
  const { isView } = ArrayBuffer;
  const promiseThen = Promise.prototype.then;
  const objectToString = Object.prototype.toString;
  const objectPrototype = Object.prototype, arrayPrototype = Array.prototype, regexpPrototype = RegExp.prototype;
  const nativeIsError = Error.isError; // older engines have none
  const isPrototypeOf = Object.prototype.isPrototypeOf;
  const propertyIsEnumerable = uncurry(Object.prototype.propertyIsEnumerable);
  const bindTo = uncurry(Function.prototype.bind);
  const functionToString = uncurry(Function.prototype.toString);
  const slice = uncurry(String.prototype.slice);
  const indexOf = uncurry(String.prototype.indexOf);
  const charCode = uncurry(String.prototype.charCodeAt);
  const join = uncurry(Array.prototype.join);
  const symbolToString = uncurry(Symbol.prototype.toString);
  const dateTime = uncurry(Date.prototype.getTime);
  const dateISO = uncurry(Date.prototype.toISOString);
  const dateText = uncurry(Date.prototype.toString);
  const mapForEach = uncurry(Map.prototype.forEach), mapGet = uncurry(Map.prototype.get), mapSet = uncurry(Map.prototype.set);
  const setForEach = uncurry(Set.prototype.forEach), setAdd = uncurry(Set.prototype.add);
  const mapSize = uncurry(getter(Map.prototype, "size"));
  const setSize = uncurry(getter(Set.prototype, "size"));
  const bigintText = uncurry(BigInt.prototype.toString);
  const regexpSource = uncurry(getter(RegExp.prototype, "source"));
  const regexpFlags = ["hasIndices", "global", "ignoreCase", "multiline", "dotAll", "unicode", "unicodeSets", "sticky"];
  const regexpFlag = {}; // per letter: whether an expression has the flag
  for (let i = 0; i < 8; i++) regexpFlag["dgimsuvy"[i]] = uncurry(getter(RegExp.prototype, regexpFlags[i]));
  setPrototypeOf(regexpFlag, null);
  const bufferLength = uncurry(getter(ArrayBuffer.prototype, "byteLength"));
  const resizable = getter(ArrayBuffer.prototype, "resizable"); // older engines have none
  const bufferResizable = resizable && uncurry(resizable);
  const viewLength = uncurry(getter(DataView.prototype, "byteLength")), viewOffset = uncurry(getter(DataView.prototype, "byteOffset"));
  const viewBuffer = uncurry(getter(DataView.prototype, "buffer"));
  const typedPrototype = getPrototypeOf(Uint8Array.prototype);
  const typedTag = uncurry(getter(typedPrototype, Symbol.toStringTag));
  const typedLength = uncurry(getter(typedPrototype, "length"));
  const typedBuffer = uncurry(getter(typedPrototype, "buffer"));
  const typedOffset = uncurry(getter(typedPrototype, "byteOffset"));
  const typedBytes = uncurry(getter(typedPrototype, "byteLength"));
  const weakMapHas = uncurry(WeakMap.prototype.has), weakMapGet = uncurry(WeakMap.prototype.get), weakMapSet = uncurry(WeakMap.prototype.set);
  const WeakSetClass = WeakSet, weakSetHas = uncurry(WeakSet.prototype.has), weakSetAdd = uncurry(WeakSet.prototype.add);
  const weakRefDeref = uncurry(WeakRef.prototype.deref);
  const valueOfNumber = uncurry(Number.prototype.valueOf);
  const valueOfString = uncurry(String.prototype.valueOf);
  const valueOfBoolean = uncurry(Boolean.prototype.valueOf);
  const valueOfBigint = uncurry(BigInt.prototype.valueOf), valueOfSymbol = uncurry(Symbol.prototype.valueOf);
  const symbolToStringTag = Symbol.toStringTag, symbolIterator = Symbol.iterator, symbolAsyncIterator = Symbol.asyncIterator;
  // An engine's own are fifty times faster; older engines have none.
  const nativeToBase64 = Bytes.prototype.toBase64 && uncurry(Bytes.prototype.toBase64);
  const nativeFromBase64 = Bytes.fromBase64 && uncurry(Bytes.fromBase64);
  const base64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

  function list() { return setPrototypeOf([], null); }
  function table() { return { __proto__: null }; }
  function define(target, key, value, enumerable) {
    defineProperty(target, key,
      { __proto__: null, value, writable: true, enumerable: enumerable === true, configurable: true });
    return target;
  }
  function attempt(action, value) {
    try { return action(value); } catch { return undefined; }
  }
  function hasBrand(action, value) {
    try { action(value); return true; } catch { return false; }
  }

