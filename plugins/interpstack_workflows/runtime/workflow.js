// The guest's side of a workflow: its verbs, and a realm without clocks, chance and code of its own.
//
// A cell calls `$workflow` once, with a function that imports the module. From then on the realm is
// guarded: objects that scripts share are frozen, and access to the host or to new code is removed. An earlier
// cell may have called `$workflow.guard` already, so that the host keeps an image of the guarded realm.
// Requests carry JSON texts, which the host parses and checks; all that is used of the language is
// captured first.
(kernel) => {
  "use strict";
  const { request, call, define, asNative, describe } = kernel;
  const StringText = String, PromiseClass = Promise, ErrorClass = Error, TypeErrorClass = TypeError, RangeErrorClass = RangeError;
  const faultClasses = [TypeError, ReferenceError, SyntaxError, RangeError];
  const globals = globalThis;
  const { stringify, parse } = JSON;
  const { isArray } = Array;
  const { freeze, isFrozen, keys } = Object;
  const { apply, defineProperty, deleteProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;
  const { ceil } = Math;
  const isFiniteNumber = Number.isFinite, isWhole = Number.isSafeInteger;
  const promiseThen = Promise.prototype.then;
  const iteratorKey = Symbol.iterator;
  const hasInstance = Function.prototype[Symbol.hasInstance];
  const uncurry = Function.prototype.bind.bind(Function.prototype.call);
  const join = Array.prototype.join;
  const slice = uncurry(String.prototype.slice), indexOf = uncurry(String.prototype.indexOf);
  const WeakSetClass = WeakSet, seenAdd = uncurry(WeakSet.prototype.add), seenHas = uncurry(WeakSet.prototype.has);
  const WeakMapClass = WeakMap, pathGet = uncurry(WeakMap.prototype.get), pathSet = uncurry(WeakMap.prototype.set);
  const mapEach = uncurry(Map.prototype.forEach), setEach = uncurry(Set.prototype.forEach);
  const plainPrototype = Object.prototype, objectText = Object.prototype.toString, isBufferView = ArrayBuffer.isView;
  const fatalErrors = new WeakSetClass();
  const MAX_SLEEP_DAYS = 365;

  // -- values ------------------------------------------------------------------------------

  const isObject = (value) => typeof value === "object" && value !== null;
  const isPromise = (value) => isObject(value) && typeof value.then === "function";
  const kindOf = (value) => value === null ? "null" : isArray(value) ? "an array" : isPromise(value) ? "a promise"
    : typeof value === "object" ? "an object" : typeof value === "undefined" ? "undefined" : "a " + typeof value;
  const wrong = (message) => new TypeErrorClass(message);
  const isFault = (error) => {
    for (let i = 0; i < faultClasses.length; i++) if (apply(hasInstance, faultClasses[i], [error])) return true;
    return false;
  };
  // What JSON would make an empty object of, or one of numbered bytes: a remedy, by the name of its class.
  const REMEDIES = { __proto__: null, Promise: "await it", RegExp: "use its source", BigInt: "use String(value), or Number(value)",
    ArrayBuffer: "use [...new Uint8Array(buffer)]", SharedArrayBuffer: "use [...new Uint8Array(buffer)]",
    DataView: "use [...new Uint8Array(view.buffer)]", WeakMap: "use a Map", WeakSet: "use a Set", WeakRef: "use what it refers to",
    Generator: "use [...generator]", AsyncGenerator: "collect what it yields, with for await" };
  const classOf = (value) => slice(apply(objectText, value, []), 8, -1);
  const withArticle = (name) => (indexOf("AEIO", name[0]) < 0 ? "a " : "an ") + name;
  const isView = (value) => apply(isBufferView, undefined, [value]);
  const isIterator = (name) => name !== "Iterator" && slice(name, -9) === " Iterator";
  const remedyOf = (value, name) => REMEDIES[name] !== undefined ? REMEDIES[name]
    : isIterator(name) ? "use [...iterator]" : isView(value) ? "use [...bytes]" : undefined;
  // The path of a value that is in `holder` under `key`, from the holders that were seen.
  function pathOf(seen, holder, key) {
    let path = "";
    for (let level = 0; holder !== undefined && level < 50; level++) {
      const above = pathGet(seen, holder);
      if (above === undefined) return "$" + path; // the holder of the whole value, under an empty key
      path = (isArray(holder) ? "[" + key + "]" : "." + key) + path;
      holder = above.holder;
      key = above.key;
    }
    return "$…" + path;
  }
  // A Map with keys of text is an object, a Set an array, an Error an object with its name and message.
  function plain(value, name, at) {
    if (name === "Map") {
      const fields = { __proto__: null };
      mapEach(value, (item, key) => {
        if (typeof key !== "string" && at !== undefined)
          throw wrong("it has a Map with " + kindOf(key) + " as a key" + at() + "; use [...map], or keys of text");
        defineProperty(fields, typeof key === "string" ? key : textOf(key, true), { __proto__: null, value: item, enumerable: true, configurable: true, writable: true });
      });
      return fields;
    }
    if (name === "Set") {
      const items = [];
      setEach(value, (item) => { items[items.length] = item; });
      return items;
    }
    const described = describe(value), fields = { __proto__: null, name: described.name, message: described.message };
    const own = keys(value);
    for (let i = 0; i < own.length; i++) fields[own[i]] = value[own[i]];
    for (let i = 0; i < REASONS.length; i++) {
      const found = getOwnPropertyDescriptor(value, REASONS[i]);
      if (found !== undefined && !found.enumerable) fields[REASONS[i]] = found.value;
    }
    return fields;
  }
  // What an error has of other errors: own properties that the language makes, and makes not enumerable.
  const REASONS = ["cause", "errors", "error", "suppressed"];
  // A built-in object without fields has internal data: JSON would make `{}` of it.
  const FIELDED = { __proto__: null, Object: true, Map: true, Set: true, Error: true, DOMException: true, Boolean: true, Number: true, String: true,
    Arguments: true, Function: true };
  const isOpaque = (value, name) => FIELDED[name] !== true && keys(value).length === 0;
  const isPlain = (value) => {
    if (isArray(value)) return true;
    const prototype = getPrototypeOf(value);
    return prototype === null || prototype === plainPrototype;
  };
  // Objects of classes that JSON does not know, as plain data; `seen` gets the places of what has others.
  // A message takes all values: what cannot be carried is named in it.
  // Options take plain data alone: a function that JSON leaves out would be an option without effect, and
  // a limit that is NaN would be none.
  function carried(seen, message, options) {
    return function (key, value) {
      if (options && (typeof value === "function" || typeof value === "symbol" || value === undefined && isArray(this)))
        throw wrong("it has " + kindOf(value) + where(seen, this, key) + "; use plain data");
      if (options && typeof value === "number" && !isFiniteNumber(value))
        throw wrong("it has " + value + where(seen, this, key) + "; use a finite number, or leave it out");
      if (typeof value === "bigint" && message) return value + "n";
      if (typeof value === "bigint") throw wrong("it has a BigInt" + where(seen, this, key) + "; " + REMEDIES.BigInt);
      if (!isObject(value)) return value;
      let made = value;
      if (!isPlain(value)) {
        const name = classOf(value), remedy = remedyOf(value, name);
        if (message && remedy !== undefined) return "[" + name + "]";
        if (remedy !== undefined) throw wrong("it has " + withArticle(name) + where(seen, this, key) + "; " + remedy);
        if (isOpaque(value, name)) {
          if (message) return "[" + name + "]";
          throw wrong("it has " + withArticle(name) + where(seen, this, key)
            + "; " + (typeof value[iteratorKey] === "function" ? "use [...it]" : "use plain data"));
        }
        if (name === "Map" || name === "Set" || name === "Error" || name === "DOMException") made = plain(value, name, message ? undefined : () => where(seen, this, key));
      }
      if (seen !== null) pathSet(seen, made, { __proto__: null, holder: this, key });
      return made;
    };
  }
  const unplaced = { __proto__: null };
  const where = (seen, holder, key) => {
    if (seen === null) throw unplaced;
    const path = pathOf(seen, holder, key);
    return path === "$" ? "" : " at " + path;
  };
  // Stringifies twice if the place of a value has to be reported: to track all places would take longer.
  function textOf(value, message, options = false) {
    if (!isObject(value) && typeof value !== "bigint") return stringify(value);
    try {
      return stringify(value, carried(null, message, options));
    } catch (error) {
      if (error !== unplaced) throw error;
      return stringify(value, carried(new WeakMapClass(), false, options));
    }
  }
  // The JSON text of a value, as the host is to see it; `undefined` is null.
  const json = (value, what, message = false, options = false) => {
    let text;
    try {
      text = textOf(value, message, options);
    } catch (error) {
      throw wrong(what + " cannot be turned into JSON: " + describe(error).message);
    }
    return text === undefined ? "null" : text;
  };
  // Followed as by the language itself, whatever the script has put on the promise.
  const follow = (value, done, failed) =>
    apply(promiseThen, new PromiseClass((resolve) => { resolve(value); }), [done, failed]);
  function frozen(value) {
    if (!isObject(value) || isFrozen(value)) return value;
    const names = ownKeys(value);
    for (let i = 0; i < names.length; i++) frozen(value[names[i]]);
    return freeze(value);
  }

  // -- requests ----------------------------------------------------------------------------

  let lastId = 0, mostRequests = 0, sharedBudget = { __proto__: null, total: null, spent: 0 };
  // The parts are texts, numbers or null, and few.
  function ask(kind, ...parts) {
    if (lastId >= mostRequests) throw new RangeErrorClass("the workflow may make " + mostRequests
      + (mostRequests === 1 ? " request; this was one more" : " requests; this was one more"));
    let text = '["' + ++lastId + '"';
    for (let i = 0; i < parts.length; i++) text += "," + stringify(parts[i]);
    const name = "workflow." + kind;
    return apply(promiseThen, request(name, text + "]", '"' + name + '"', true, true), settled);
  }
  const settled = [(answer) => {
    setBudget(answer[1]);
    return answer[2] ? undefined : answer[0];
  }, (error) => {
    const marks = isObject(error) ? error.$workflow : undefined;
    if (isArray(marks)) { // from the host, with the rejection
      deleteProperty(error, "$workflow");
      if (marks[0]) seenAdd(fatalErrors, error);
      setBudget(marks[1]);
    }
    throw error;
  }];
  function setBudget(pair) {
    if (pair !== null) sharedBudget = { __proto__: null, total: pair[0], spent: pair[1] };
  }
  const optionsOf = (options, verb) => {
    if (options === undefined || options === null) return {};
    if (!isObject(options) || isArray(options)) throw wrong(verb + " takes options as an object; got " + kindOf(options));
    const name = classOf(options); // a Map has no fields: its options would have no effect
    if (name !== "Object") throw wrong(verb + " takes options as a plain object; got " + withArticle(name));
    return { ...options };
  };
  const packed = (options, verb) => {
    if (keys(options).length === 0) return null;
    const text = json(options, verb + ": its options", false, true);
    if (text[0] !== "{") throw wrong(verb + " takes options as a plain object; as JSON these are " + slice(text, 0, 40));
    return text;
  };
  // Refuse arguments that would have no effect, such as options in the wrong place.
  const noMore = (usage, more) => {
    for (let i = 0; i < more.length; i++)
      if (more[i] !== undefined) throw wrong(usage + " takes no further argument; got " + kindOf(more[i]));
  };
  const asked = (make) => {
    try {
      return make();
    } catch (error) {
      return new PromiseClass((resolve, reject) => { reject(error); });
    }
  };

  // -- verbs -------------------------------------------------------------------------------

  let currentPhase, dropped = 0;
  // Whether the body of the script stands at top level, as in scripts for Claude Code.
  let topLevel = false;
  const MOST_ITEMS = 4096; // of one `parallel` or `pipeline` of such a script
  const messages = [];
  let sent = 0, chars = 0, waits = false;
  const MOST_CALLS = 5000, MOST_MESSAGES = 1000, MOST_CHARS = 2 ** 20;
  // The kernel bounds calls of a cell; beyond some thousands, messages go as requests, those of one turn together.
  function report(message, size) {
    if (++sent <= MOST_CALLS) { call("workflow.calls", [message]); return; }
    if (size > MOST_CHARS)
      throw new RangeErrorClass(message[0] + ": after " + MOST_CALLS + " messages, one may have at most " + MOST_CHARS + " characters");
    if (messages.length === MOST_MESSAGES || chars + size > MOST_CHARS) send();
    messages[messages.length] = message;
    chars += size;
    if (waits) return;
    waits = true;
    apply(promiseThen, new PromiseClass((resolve) => { resolve(); }), [() => { waits = false; send(); }]);
  }
  function send() {
    const all = [];
    for (let i = 0; i < messages.length; i++) all[i] = messages[i];
    messages.length = chars = 0;
    apply(promiseThen, request("workflow.calls", all), [() => {}, () => {}]);
  }
  // Values for which JSON would have null, as text.
  function printable(value) {
    if (typeof value === "function") return "[function]";
    const lacks = value === undefined || typeof value === "symbol" || typeof value === "number" && !isFiniteNumber(value);
    return lacks ? StringText(value) : value;
  }
  function log(...values) {
    const texts = [];
    let size = 0;
    for (let i = 0; i < values.length; i++) size += (texts[i] = json(printable(values[i]), "log: value " + (i + 1), true)).length;
    report(["log", texts], size);
  }
  function phase(name, options, ...more) {
    noMore("phase(name, options?)", more);
    if (typeof name !== "string") throw wrong("phase(name, options?) takes a string; got " + kindOf(name));
    const text = packed(optionsOf(options, "phase"), "phase");
    currentPhase = name;
    report(["phase", name, text], name.length + (text === null ? 0 : text.length));
  }
  function agent(prompt, options, ...more) {
    return asked(() => {
      noMore("agent(prompt, options?)", more);
      if (typeof prompt !== "string") throw wrong("agent(prompt, options?) takes a string as its prompt; got " + kindOf(prompt));
      if (options === undefined && currentPhase === undefined) return answerOf(ask("agent", prompt, null), prompt, {});
      const own = optionsOf(options, "agent");
      if (currentPhase !== undefined && !("phase" in own)) own.phase = currentPhase;
      return answerOf(ask("agent", prompt, packed(own, "agent")), prompt, own);
    });
  }
  // In a script with its body at top level, an agent that failed gives null, and an isolated one its bare answer:
  // such scripts test for null, and read no `value`. The record of the step has the error, or the patch.
  function answerOf(asking, prompt, options) {
    if (!topLevel) return asking;
    const what = typeof options.label === "string" ? options.label : slice(prompt, 0, 60);
    const isolated = options.isolation !== undefined && options.isolation !== null;
    const tellWork = (work) => {
      if (isolated && isArray(work.files) && work.files.length > 0) log("agent " + stringify(what) + " changed files in its worktree: "
        + apply(join, work.files, [", "]) + "; `interpstack workflow patch RUN` prints the patch");
    };
    return apply(promiseThen, asking, [(answer) => {
      if (!isolated) return answer;
      tellWork(answer);
      return answer.value;
    }, (error) => {
      const isLoss = isObject(error) && error.kind === "agent";
      // What it would fail at in every item, such as an effort that it does not take, is no loss of one of them.
      if (isLoss && error.final === true) seenAdd(fatalErrors, error);
      if (!isLoss || isFatal(error)) throw error;
      tellWork(error);
      dropped++;
      return null;
    }]);
  }
  function workflow(ref, args, ...more) {
    return asked(() => {
      noMore("workflow(ref, args?)", more);
      const path = isObject(ref) && !isArray(ref) ? ref.scriptPath : undefined;
      if (typeof ref !== "string" && typeof path !== "string")
        throw wrong("workflow(ref, args?) takes a name, or {scriptPath: '…'}; got " + kindOf(ref));
      const fields = typeof ref === "string" ? [] : keys(ref);
      for (let i = 0; i < fields.length; i++)
        if (fields[i] !== "scriptPath") throw wrong("workflow: its reference has no field '" + slice(fields[i], 0, 60) + "'; it takes {scriptPath}");
      return ask("workflow", typeof ref === "string" ? ref : null, typeof ref === "string" ? null : path, json(args, "workflow: args"));
    });
  }
  function sleep(ms, ...more) {
    return asked(() => {
      noMore("sleep(ms)", more);
      if (typeof ms !== "number" || !isFiniteNumber(ms) || ms < 0) throw wrong("sleep(ms) requires a finite non-negative number");
      if (ms > MAX_SLEEP_DAYS * 86400000) throw wrong("sleep(ms) duration exceeds the maximum allowed delay");
      return ask("sleep", ceil(ms) + 0); // never -0
    });
  }
  function question(text, options, ...more) {
    return asked(() => {
      noMore("ask(question, options?)", more);
      if (typeof text !== "string") throw wrong("ask(question, options?) takes a string; got " + kindOf(text));
      return ask("ask", text, packed(optionsOf(options, "ask"), "ask"));
    });
  }
  function wait(signal, options, ...more) {
    return asked(() => {
      noMore("wait(signal, options?)", more);
      if (typeof signal !== "string" || signal === "") throw wrong("wait(signal, options?) takes the name of a signal; got " + (signal === "" ? "an empty string" : kindOf(signal)));
      return ask("wait", signal, packed(optionsOf(options, "wait"), "wait"));
    });
  }
  function checkpoint(label, value, ...more) {
    return asked(() => {
      noMore("checkpoint(label, value?)", more);
      if (typeof label !== "string") throw wrong("checkpoint(label, value?) takes a string; got " + kindOf(label));
      return ask("checkpoint", label, json(value, "checkpoint: its value"));
    });
  }
  function exec(profile, spec, ...more) {
    return asked(() => {
      noMore("exec(profile, request)", more);
      const slash = typeof profile === "string" ? indexOf(profile, "/") : -1;
      if (slash < 1 || slash === profile.length - 1) throw wrong("exec(profile, request) takes a profile as '<provider>/<name>'");
      const { command, args = [], cwd, env = {}, stdin, ...others } = optionsOf(spec, "exec");
      const unknown = keys(others);
      if (unknown.length > 0) throw wrong("exec: request has no field '" + unknown[0] + "'; it takes {command, args, cwd, env, stdin}");
      if (typeof command !== "string" || command === "") throw wrong("exec: request.command takes a string that is not empty; got " + kindOf(command));
      if (!isArray(args)) throw wrong("exec: request.args takes an array of strings; got " + kindOf(args));
      const words = [], variables = { __proto__: null };
      for (let i = 0; i < args.length; i++) if (typeof (words[i] = args[i]) !== "string") throw wrong("exec: request.args takes strings; item " + i + " is " + kindOf(words[i]));
      if (cwd !== undefined && typeof cwd !== "string") throw wrong("exec: request.cwd takes a string; got " + kindOf(cwd));
      if (!isObject(env) || isArray(env)) throw wrong("exec: request.env takes an object of strings; got " + kindOf(env));
      const names = keys(env);
      for (let i = 0; i < names.length; i++) if (typeof (variables[names[i]] = env[names[i]]) !== "string") throw wrong("exec: request.env takes strings; '" + names[i] + "' is " + kindOf(variables[names[i]]));
      if (stdin !== undefined && typeof stdin !== "string") throw wrong("exec: request.stdin takes a string; got " + kindOf(stdin));
      return ask("exec", profile, json({ command, args: words, cwd, env: variables, stdin }, "exec: its request"));
    });
  }

  // -- many at once ------------------------------------------------------------------------

  const failureOf = (error) => {
    const described = describe(error);
    const read = (key) => { try { return isObject(error) ? error[key] : undefined; } catch { return undefined; } };
    const kind = read("kind"), attempts = read("attempts"), usage = read("usage");
    return { kind: typeof kind === "string" ? kind : described.name, name: described.name,
      message: isObject(error) ? described.message : "" + json(error, "the failure"),
      attempts: isWhole(attempts) ? attempts : 1, usage: isObject(usage) ? usage : null };
  };
  const isFatal = (error) => isObject(error) && seenHas(fatalErrors, error);
  const escapes = (error) => isFault(error) || isFatal(error);
  const LIMITS = "{failFast: boolean, maxFailures: number}";
  function limitsOf(options, verb) {
    const { failFast = false, maxFailures, ...others } = optionsOf(options, verb);
    const unknown = keys(others);
    if (unknown.length > 0) throw wrong(verb + " has no option '" + unknown[0] + "'; it takes " + LIMITS);
    if (typeof failFast !== "boolean") throw wrong(verb + ": failFast takes true or false; got " + kindOf(failFast));
    if (maxFailures !== undefined && !(isWhole(maxFailures) && maxFailures >= 0)) throw wrong(verb + ": maxFailures takes a whole number, 0 or more");
    return { failFast, maxFailures };
  }
  // Run `start(i)` for each of `count` slots at once; a slot that fails is null, or says so if `settled`.
  function all(count, start, { failFast, maxFailures }, settled, verb) {
    if (topLevel && count > MOST_ITEMS) {
      const tooMany = new RangeErrorClass(verb + " takes at most " + MOST_ITEMS + " items in a script with its body at top level, and got " + count
        + "; divide them, or export the body as a function: `export default async (args) => {…}`");
      seenAdd(fatalErrors, tooMany);
      throw tooMany;
    }
    return new PromiseClass((resolve, reject) => {
      const results = [];
      let open = count, failures = 0;
      for (let i = 0; i < count; i++) results[i] = null;
      if (count === 0) { resolve(results); return; }
      const done = (i, value) => {
        results[i] = settled ? { ok: true, value } : value;
        if (--open === 0) resolve(results);
      };
      const failed = (i, error) => {
        // Scripts with their body at top level go on without an item whose agent gave null, on which a later stage fails.
        const drops = topLevel && isFault(error) && !isFatal(error);
        if (failFast || escapes(error) && !drops) { reject(error); return; }
        if (drops) log(verb + ": item " + i + " is null: " + describe(error).name + ": " + describe(error).message);
        failures++;
        dropped++;
        if (maxFailures !== undefined && failures > maxFailures) {
          const message = verb + ": " + failures + " failures are more than maxFailures: " + maxFailures + "; the last one: " + failureOf(error).message;
          const many = new ErrorClass(message);
          many.name = "TooManyFailures";
          reject(many);
          return;
        }
        if (settled) results[i] = { ok: false, error: failureOf(error) };
        if (--open === 0) resolve(results);
      };
      for (let i = 0; i < count; i++) {
        try {
          follow(start(i), (value) => { done(i, value); }, (error) => { failed(i, error); });
        } catch (error) {
          failed(i, error);
        }
      }
    });
  }
  const parallelAs = (settled) => function parallel(tasks, options, ...more) {
    return asked(() => {
      noMore("parallel(tasks, options?)", more);
      if (!isArray(tasks)) throw wrong("parallel(tasks) takes an array of functions; got " + kindOf(tasks));
      const own = [];
      for (let i = 0; i < tasks.length; i++) {
        if (typeof tasks[i] !== "function")
          throw wrong("parallel(tasks) takes functions, as in parallel([() => agent('…')]); item " + i + " is " + kindOf(tasks[i]));
        own[i] = tasks[i];
      }
      return all(own.length, (i) => own[i](), limitsOf(options, "parallel"), settled, "parallel");
    });
  };
  const pipelineAs = (settled) => function pipeline(items, ...stages) {
    return asked(() => {
      if (!isArray(items)) throw wrong("pipeline(items, ...stages) takes an array of items; got " + kindOf(items));
      const last = stages.length > 0 ? stages[stages.length - 1] : undefined;
      const options = isObject(last) && !isPromise(last) && !isArray(last) ? stages.pop() : undefined;
      for (let i = 0; i < stages.length; i++)
        if (typeof stages[i] !== "function") throw wrong("pipeline(items, ...stages) takes functions as stages; stage " + i + " is " + kindOf(stages[i]));
      const own = [];
      for (let i = 0; i < items.length; i++) own[i] = items[i];
      const run = (value, i, at) => at === stages.length ? value
        : follow(stages[at](value, own[i], i), (next) => run(next, i, at + 1));
      return all(own.length, (i) => run(own[i], i, 0), limitsOf(options, "pipeline"), settled, "pipeline");
    });
  };

  // -- what a script sees ------------------------------------------------------------------

  const native = (name, made) => {
    const seen = asNative(made);
    defineProperty(seen, "name", { __proto__: null, value: name });
    return seen;
  };
  const verbs = {
    agent: native("agent", agent), ask: native("ask", question), checkpoint: native("checkpoint", checkpoint),
    log: native("log", log), phase: native("phase", phase), workflow: native("workflow", workflow), wait: native("wait", wait),
    parallel: native("parallel", parallelAs(false)), pipeline: native("pipeline", pipelineAs(false)),
  };
  verbs.parallel.settled = native("settled", parallelAs(true));
  verbs.pipeline.settled = native("settled", pipelineAs(true));
  const budget = { __proto__: null };
  defineProperty(budget, "total", { __proto__: null, enumerable: true, get: native("total", () => sharedBudget.total) });
  budget.spent = native("spent", () => sharedBudget.spent);
  budget.remaining = native("remaining", () => sharedBudget.total === null ? Infinity
    : sharedBudget.total > sharedBudget.spent ? sharedBudget.total - sharedBudget.spent : 0);
  const extra = { sleep: native("sleep", sleep), ask: verbs.ask, wait: verbs.wait, checkpoint: verbs.checkpoint };
  const sandbox = { exec: native("exec", exec) };
  const console = {};
  for (const name of ["debug", "error", "info", "log", "warn"]) console[name] = verbs.log;
  const offered = { ...verbs, budget, console, SW: { extra, sandbox } };

  // -- the guard ---------------------------------------------------------------------------

  // Names that become undefined in every engine; of all other names, only ALLOWED remain.
  const REMOVED = ["eval", "Function", "AsyncFunction", "GeneratorFunction", "AsyncGeneratorFunction", "ShadowRealm", "WebAssembly",
    "fetch", "XMLHttpRequest", "WebSocket", "EventSource", "navigator", "location", "Deno", "Bun", "process", "require", "module",
    "exports", "Buffer", "__dirname", "__filename", "performance", "crypto", "setTimeout", "setInterval", "setImmediate", "clearTimeout",
    "clearInterval", "clearImmediate", "queueMicrotask", "WeakRef", "FinalizationRegistry", "SharedArrayBuffer", "Atomics", "gc", "global",
    "AbortController", "AbortSignal"];
  const ALLOWED = { __proto__: null };
  for (const name of ["AggregateError", "Array", "ArrayBuffer", "BigInt", "BigInt64Array", "BigUint64Array", "Boolean", "DOMException",
    "DataView", "Date", "Error", "EvalError", "Float16Array", "Float32Array", "Float64Array", "Infinity", "Int16Array", "Int32Array",
    "Int8Array", "InternalError", "Intl", "Iterator", "JSON", "Map", "Math", "NaN", "Number", "Object", "Promise", "Proxy", "RangeError",
    "ReferenceError", "Reflect", "RegExp", "Set", "String", "SuppressedError", "Symbol", "SyntaxError", "TextDecoder", "TextEncoder",
    "TypeError", "URIError", "URL", "URLSearchParams", "Uint16Array", "Uint32Array", "Uint8Array", "Uint8ClampedArray", "WeakMap",
    "WeakSet", "atob", "btoa", "decodeURI", "decodeURIComponent", "encodeURI", "encodeURIComponent", "escape", "globalThis", "isFinite",
    "isNaN", "parseFloat", "parseInt", "structuredClone", "undefined", "unescape"]) ALLOWED[name] = true;
  const functionKinds = [() => {}, async () => {}, function* () {}, async function* () {}];
  // Objects whose prototypes have no name, and are reached by no property of a global.
  const UNNAMED = [() => [][Symbol.iterator](), () => new Map()[Symbol.iterator](), () => new Set()[Symbol.iterator](),
    () => ""[Symbol.iterator](), () => "".matchAll(/x/g), () => Iterator.from({ next() {} }), () => [].values().map(() => {}),
    () => new URLSearchParams()[Symbol.iterator](), () => new Intl.Segmenter().segment(""),
    () => new Intl.Segmenter().segment("")[Symbol.iterator]()];
  const noCode = native("Function", function () { throw wrong("code from text is disabled in workflows"); });
  // Where an assignment to an object is to make an own property, although what it inherits is frozen.
  const ASSIGNABLE = [Object.prototype, Function.prototype, Error.prototype, TypeError.prototype, RangeError.prototype,
    SyntaxError.prototype, ReferenceError.prototype, EvalError.prototype, URIError.prototype];

  function fix(name, value) {
    const found = getOwnPropertyDescriptor(globals, name);
    const fixed = found !== undefined && !found.configurable;
    const done = defineProperty(globals, name, fixed ? { __proto__: null, value, writable: false }
      : { __proto__: null, value, writable: false, configurable: false, enumerable: false });
    if (!done) throw new ErrorClass("the engine does not let " + name + " be guarded");
  }
  function letAssign(owner) {
    const names = ownKeys(owner);
    for (let i = 0; i < names.length; i++) {
      const key = names[i], found = getOwnPropertyDescriptor(owner, key);
      if (!found.configurable || found.get !== undefined || found.set !== undefined || !found.writable) continue;
      const { value, enumerable } = found;
      defineProperty(owner, key, {
        __proto__: null, enumerable, configurable: false,
        get() { return value; },
        set(next) {
          if (this === owner || !isObject(this) && typeof this !== "function") throw wrong("cannot change what all scripts share");
          defineProperty(this, key, { __proto__: null, value: next, writable: true, enumerable: true, configurable: true });
        },
      });
    }
  }
  function harden(root) {
    const seen = new WeakSetClass(), queue = [root];
    for (let at = 0; at < queue.length; at++) {
      const node = queue[at];
      if (node === globals || seenHas(seen, node)) continue;
      seenAdd(seen, node);
      freeze(node);
      const names = ownKeys(node);
      for (let i = 0; i <= names.length; i++) {
        const found = i < names.length ? getOwnPropertyDescriptor(node, names[i]) : { value: getPrototypeOf(node) };
        const parts = [found.value, found.get, found.set];
        for (let j = 0; j < 3; j++)
          if (isObject(parts[j]) || typeof parts[j] === "function") queue[queue.length] = parts[j];
      }
    }
  }
  let guarded = false;
  function guard() {
    if (guarded) return;
    guarded = true;
    for (let i = 0; i < functionKinds.length; i++)
      defineProperty(getPrototypeOf(functionKinds[i]), "constructor", { __proto__: null, value: noCode, writable: false, configurable: false });
    for (let i = 0; i < REMOVED.length; i++) fix(REMOVED[i], undefined);
    const found = ownKeys(globals);
    for (let i = 0; i < found.length; i++) {
      const name = found[i];
      // The engine's own names begin with $: code of cells needs them, and they are guarded already.
      if (typeof name === "string" && ALLOWED[name] !== true && name[0] !== "$") fix(name, undefined);
    }
    for (let i = 0; i < ASSIGNABLE.length; i++) letAssign(ASSIGNABLE[i]);
    const names = ownKeys(globals), shared = [];
    for (let i = 0; i < names.length; i++) {
      const found = getOwnPropertyDescriptor(globals, names[i]);
      if (found !== undefined && found.get === undefined) shared[shared.length] = found.value;
    }
    for (let i = 0; i < functionKinds.length; i++) shared[shared.length] = functionKinds[i];
    for (let i = 0; i < UNNAMED.length; i++) {
      try {
        shared[shared.length] = UNNAMED[i]();
      } catch {} // this engine has no such objects
    }
    shared[shared.length] = offered;
    harden(shared);
    const verbNames = ownKeys(offered);
    for (let i = 0; i < verbNames.length; i++) fix(verbNames[i], offered[verbNames[i]]);
  }

  // -- one run -----------------------------------------------------------------------------

  // The cell's one call: the answer of the host comes before the module's, which is asked for after it.
  async function run(load) {
    deleteProperty(globals, "$workflow");
    const starting = request("workflow.start", null), loading = load();
    apply(promiseThen, loading, [() => {}, () => {}]); // it is awaited below
    const input = await starting;
    topLevel = input.topLevel;
    const args = argumentsOf(parse(input.args));
    setBudget(input.budget);
    mostRequests = input.requests;
    guard();
    if (topLevel) defineProperty(globals, "args", { __proto__: null, value: args, writable: true, configurable: false, enumerable: false });
    else fix("args", args);
    let stage = "load";
    try {
      const module = await loading;
      stage = "run";
      if (!("default" in module)) {
        stage = "export";
        throw wrong("workflow module must default export a workflow result or function");
      }
      const main = module.default;
      const context = freeze({ ...verbs, args, budget, extra, sandbox });
      const result = typeof main === "function" ? await main(args, context) : await main;
      stage = "result";
      finish({ result: json(result, "workflow result"), dropped });
    } catch (error) {
      call("workflow.failed", [stage, dropped, propertiesOf(error)]);
      throw error;
    }
  }
  // A script with its body at top level owns its arguments: it may change them, and a run without any has `undefined`.
  function argumentsOf(given) {
    if (!topLevel) return frozen(given);
    return given === null ? undefined : given;
  }
  // The properties of an error for the script that called this one, as JSON; without those that JSON has no form for.
  function propertiesOf(error) {
    let text = "";
    try {
      if (!isObject(error) || isArray(error)) return "{}";
      const fields = plain(error, "Error"), names = keys(fields);
      for (let i = 0; i < names.length; i++) {
        const name = names[i];
        if (name === "name" || name === "message" || name === "stack" || fields[name] === undefined) continue;
        let one;
        try { one = stringify(name) + ":" + json(fields[name], name, true); } catch { continue; }
        if (text.length + one.length < MOST_PROPERTY_CHARS) text += (text === "" ? "" : ",") + one;
      }
    } catch {} // a getter or a proxy that throws
    return "{" + text + "}";
  }
  const MOST_PROPERTY_CHARS = 100000;
  const finish = (output) => { call("workflow.result", [output.result, output.dropped]); };
  const start = native("$workflow", run);
  start.guard = native("guard", guard);
  define("$workflow", start);
}
