  // -- promises of calls, whose value the code took for the value of the call ---------------------

  // A call's promise inherits from `Promise.prototype` by way of a proxy, which is asked for all that a
  // promise lacks: the code means the value of the call, and has not waited for it.
  const callOf = new WeakMap(); // promise -> name of the bridge
  const explained = new WeakSet(); // errors whose message says what to write instead
  const symbolToPrimitive = Symbol.toPrimitive;
  const lacking = new ProxyClass(freeze(setPrototypeOf({}, PromiseClass.prototype)), {
    __proto__: null,
    get(target, key, receiver) {
      if (key in target || !weakMapHas(callOf, receiver)) return get(target, key, receiver);
      const name = weakMapGet(callOf, receiver), fault = faultOfReading(name, key);
      if (fault === undefined) return undefined;
      const error = new TypeErrorClass("a Promise of " + name + " " + fault);
      weakSetAdd(explained, error);
      throw error;
    },
  });
  function faultOfReading(name, key) {
    const before = "; put await before the call", several = ", or an array of promises in Promise.all";
    if (key === "toJSON") return "cannot be turned into JSON" + before;
    if (key === symbolToPrimitive) return "is no text or number" + before;
    if (key === symbolIterator || key === symbolAsyncIterator) return "cannot be iterated" + before + several;
    if (typeof key === "symbol") return undefined;
    const part = slice(key, 0, 80), member = isIndex(part) ? "[" + part + "]" : "." + part;
    return "has no " + stringify(part) + "; write (await " + name + "(…))" + member;
  }
  const CallPromise = function () {};
  const callPromise = { __proto__: lacking, constructor: PromiseClass };
  defineProperty(callPromise, "constructor", { __proto__: null, enumerable: false });
  CallPromise.prototype = freeze(callPromise);
  function promiseOfCall(name, start) {
    const made = construct(PromiseClass, [start], CallPromise);
    weakMapSet(callOf, made, name);
    return made;
  }

  const ofCall = (promise) => weakMapHas(callOf, promise) ? " of " + weakMapGet(callOf, promise) : "";

  // Promises that output or the value of the cell shows, in place of values.
  let shown = 0, shownOfCalls = 0, shownCalls = list();
  function beginPromises() {
    if (shown !== 0) shownCalls = list();
    shown = shownOfCalls = 0;
  }
  function notePromise(value) {
    shown++;
    const name = weakMapGet(callOf, value);
    if (name === undefined) return;
    shownOfCalls++;
    if (shownCalls.length >= 5) return;
    for (let i = 0; i < shownCalls.length; i++) if (shownCalls[i] === name) return;
    shownCalls[shownCalls.length] = name;
  }
  // A JSON text: how many, how many of calls, and the names of some of these.
  function shownPromises() {
    let text = "[" + shown + "," + shownOfCalls;
    for (let i = 0; i < shownCalls.length; i++) text += "," + stringify(shownCalls[i]);
    return text + "]";
  }

