  const commands = {
    __proto__: null,
    // What is offered, and how much of it may be used: [["tools.x", awaited, listed?, counted?], …], {limits}
    bind(offered, given) {
      const names = keys(given);
      for (let i = 0; i < names.length; i++)
        if (limits[names[i]] !== given[names[i]]) limits[names[i]] = given[names[i]];
      bind(offered);
    },
    // A new cell: its seed as four 32-bit integers; the host's time in ms, the engine's name
    // for scripts in stack traces, the cell's name, and its script.
    begin(words, command) {
      forget();
      beginRejections();
      beginPromises();
      callErrors = new WeakSetClass();
      before = -1;
      calls = list(); completion = "";
      live = command.live === true;
      valueName = typeof command.valueName === "string" ? command.valueName : "";
      if (lastValue === undefined) lastValue = getOwnPropertyDescriptor(globals, valueName)?.value; // restored
      beginConsole();
      requested = uncounted = called = imported = importing = 0;
      cell++;
      active = accepting = true;
      clock = hostTime = origin = command.now;
      script = command.script;
      named = command.named !== false;
      label = command.label;
      seed(words[0], words[1], words[2], words[3]);
      if (typeof command.source === "string") run(command);
    },
    // Answers: [[id, failed, value or {name, message, data}], …]. The first is settled, `next` settles
    // the others.
    resume(ms, given, marked) {
      if (taken) clearConsole();
      setTime(ms);
      takeAnswers(given, marked);
      settleNext();
    },
    drain: () => drain(false),
    // The end of a cell, whatever became of it.
    end() {
      forget();
      dropUnreached();
      return drain(true);
    },
    names: () => stringify(ownNames()),
    members: (path) => stringify(memberNames(path)),
    look,
    values: (only) => exportValues(only),
    load: (values) => importValues(values),
  };
  const dispatch = (text) => {
    if (text === '["drain"]') return drain(false); // after each turn of the guest
    const command = setPrototypeOf(parse(text), null); // what is missing must not be inherited
    return apply(commands[command[0]], commands, [command[1], command[2], indexOf(text, '"$":') >= 0]);
  };

  const api = freeze({
    __proto__: null, inspect, write, report, request, call, timer, clearTimer, sleep, random, now,
    timeOrigin: () => origin, callLate, isRunning: () => active,
    describe, isError, thrownText, asNative, loaded,
    keepResultsBy: (keep) => { keepResult = keep; },
    // A method of the values that stay with the host; `this` is one.
    addHandleMethod: (name, method) => { define(Handle.prototype, name, method); },
    define: (name, value) => { define(globals, name, value); },
  });
  function lock(object, key) {
    const found = getOwnPropertyDescriptor(object, key);
    const fixed = { __proto__: null, configurable: false };
    if (found.get === undefined) fixed.writable = false;
    defineProperty(object, key, fixed);
  }
  // On a global object that takes no more variables, later cells could declare none.
  function keepOpen(owner, name) {
    const original = owner[name];
    define(owner, name, { [name](object) {
      if (object === globals) throw new TypeErrorClass("globalThis cannot be closed: later cells declare their variables on it");
      return original(object);
    } }[name]);
  }
  const seal = () => {
    defineProperty(importModule, "meta", { __proto__: null, get: cellMeta });
    define(importModule, "constants", constants);
    define(importModule, "uninitialized", early);
    define(importModule, "asyncLoop", asyncLoop);
    defineProperty(globals, "$mport", { __proto__: null, value: freeze(importModule) });
    // Nothing may be added where every object would inherit it: `then` on it would hijack
    // each promise that resolves to an object, a setter `value` the engine's own boxes.
    preventExtensions(objectPrototype);
    // What `await` looks at; a guest that changes it would lose every answer of the host.
    lock(PromiseClass.prototype, "constructor");
    lock(PromiseClass, Symbol.species);
    // It is given the functions on the stack, the kernel's too; an engine may have its own.
    if (getOwnPropertyDescriptor(ErrorClass, "prepareStackTrace")?.configurable !== false) {
      defineProperty(ErrorClass, "prepareStackTrace",
        { __proto__: null, get() { return undefined; }, set() {}, enumerable: false, configurable: false });
    }
    keepOpen(Object, "freeze");
    keepOpen(Object, "seal");
    keepOpen(Object, "preventExtensions");
    keepOpen(Reflect, "preventExtensions");
    const names = ownKeys(globals);
    for (let i = 0; i < names.length; i++) if (typeof names[i] === "string") {
      builtin[names[i]] = setPrototypeOf(getOwnPropertyDescriptor(globals, names[i]), null);
    }
    watchBuiltins();
  };
  return {
    dispatch, reject: (reason) => fail(reason, cell), api, seal, guestFrame, runningText: () => running,
    findFaultsBy: (found) => { findFault = found; },
    trackRejectionsBy: (tracker) => { unhandled = tracker; },
    forgetAbsent: () => {
      for (const name in builtin) if (getOwnPropertyDescriptor(globals, name) === undefined) delete builtin[name];
    },
    compareBuiltins: () => { comparesBuiltins = true; },
    recognizePromisesBy: (test) => { isForeignPromise = test; },
    recognizeProxiesBy: (test) => { isProxy = test; tellsProxies = true; },
    next: settleNext,
    findModulesBy: (found) => { engineModules = found; },
    // Whether nothing that the host does can let the running cell go on.
    needsNothing: () => active && keys(pending).length === 0,
  };
}
