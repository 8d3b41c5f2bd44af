// Node's built-in modules as a guest gets them: whole, in part, as a stand-in, or closed.
//
// Evaluated in the guest's realm. The host decides on the form; see `modules/builtin.py`. Objects that
// hold a module's exports are copies, so that no guest replaces what Node itself calls.
(host, write, cwd) => {
  "use strict";
  const { apply, ownKeys, defineProperty, getOwnPropertyDescriptor, construct } = Reflect;
  const globals = globalThis, about = JSON.parse(host.about);
  const ErrorClass = Error, ProxyClass = Proxy, PromiseClass = Promise;
  const uncurry = (method) => Function.prototype.call.bind(method);
  const made = { __proto__: null }; // form and name -> exports
  const { setTimeout: setNumbered, setInterval: repeatNumbered, clearTimeout, clearInterval, queueMicrotask, performance } = globals;
  const clear = clearTimeout, SymbolClass = Symbol;
  const PARTS = {
    __proto__: null,
    os: ["EOL", "arch", "availableParallelism", "constants", "devNull", "endianness", "platform", "tmpdir", "type"],
    async_hooks: ["AsyncLocalStorage", "AsyncResource"],
  };
  const THREADS = ["MessageChannel", "MessagePort", "isMainThread", "markAsUncloneable", "markAsUntransferable", "parentPort", "threadId", "workerData"];
  // The numbers of descriptors lead to the process's own, the connection and Node's pipes among them.
  const DESCRIPTORS = { __proto__: null, promises: true };
  for (const name of ["close", "fchmod", "fchown", "fdatasync", "fstat", "fsync", "ftruncate", "futimes", "open", "openAsBlob", "read", "readv", "write", "writev"])
    DESCRIPTORS[name] = DESCRIPTORS[name + "Sync"] = true;
  for (const name of ["createReadStream", "createWriteStream", "FileReadStream", "FileWriteStream", "ReadStream", "WriteStream", "Utf8Stream"]) DESCRIPTORS[name] = true;
  // Relative paths start at the working folder; without one, Node starts them at the root.
  const TWO_PATHS = { __proto__: null, copyFile: true, cp: true, link: true, rename: true, copyFileSync: true, cpSync: true, linkSync: true, renameSync: true };
  const NO_PATH = { __proto__: null, glob: true, globSync: true }, LATE_PATH = { __proto__: null, symlink: true, symlinkSync: true };
  const LISTENERS = { __proto__: null, watch: true, watchFile: true, unwatchFile: true };
  const { readable, scratch } = JSON.parse(host.files), { isPromise } = host.builtin("util").types;
  const indexOf = Function.prototype.call.bind(String.prototype.indexOf), slice = Function.prototype.call.bind(String.prototype.slice);
  const join = Function.prototype.call.bind(Array.prototype.join), { parse, stringify: quote } = JSON;
  const { Buffer: BufferClass } = host.builtin("buffer");
  const isRelative = (path) => typeof path === "string" && path !== "" && path[0] !== "/";
  function rooted(name, given) {
    let relative = false;
    const first = name in LATE_PATH ? 1 : 0, last = name in TWO_PATHS ? 1 : first;
    for (let i = first; i <= last && !(name in NO_PATH); i++) {
      if (!isRelative(given[i])) continue;
      if (cwd === null) relative = true;
      else given[i] = (cwd === "/" ? "" : cwd) + "/" + given[i];
    }
    return relative;
  }
  // Node's refusal of a path names a flag of Node; this one names the paths that code may use.
  function refusal(error, relative) {
    if (typeof error !== "object" || error === null || error.code !== "ERR_ACCESS_DENIED") return error;
    const writing = error.permission === "FileSystemWrite", may = [];
    if (!writing) for (let i = 0; i < readable.length && i < 10; i++) define(may, i, readable[i]);
    if (scratch) define(may, may.length, "os.tmpdir()");
    const head = `${writing ? "writing" : "reading"} ${quote(error.resource ?? "")} is not allowed; code may ${writing ? "write" : "read"}: ${join(may, ", ") || "nothing"}`;
    const { stack } = error, frames = typeof stack === "string" ? indexOf(stack, "\n    at ") : -1;
    error.message = relative ? `${head}; relative paths start at "/", because the engine has no working folder` : head;
    error.stack = `Error: ${error.message}${frames < 0 ? "" : slice(stack, frames)}`;
    return error;
  }
  const settled = async (promise, relative) => {
    try {
      return await promise;
    } catch (error) {
      throw refusal(error, relative);
    }
  };
  // From here on nothing calls a method that the guest could have replaced.
  function withoutDescriptors(whole) {
    const kept = {}, names = ownKeys(whole);
    for (let i = 0; i < names.length; i++) {
      const name = names[i];
      if (typeof name !== "string" || name in DESCRIPTORS) continue;
      const found = attempt(() => whole[name]);
      define(kept, name, typeof found !== "function" || name[0] < "a" ? found : { [name](...given) {
        if (typeof given[0] === "number") throw new ErrorClass(`fs.${name}: descriptors are not allowed; pass a path`);
        const relative = rooted(name, given), callback = given[given.length - 1];
        if (typeof callback === "function" && !(name in LISTENERS))
          given[given.length - 1] = (...answer) => { answer[0] = refusal(answer[0], relative); return apply(callback, undefined, answer); };
        try {
          const value = apply(found, undefined, given);
          return isPromise(value) ? settled(value, relative) : value;
        } catch (error) {
          throw refusal(error, relative);
        }
      } }[name]);
    }
    return kept;
  }
  // Loading these changes Node itself, or opens something.
  const UNSEEN = { __proto__: null, cluster: true, domain: true, repl: true, sea: true, sqlite: true, test: true, "test/reporters": true, trace_events: true, wasi: true };

  const define = (target, key, value) => defineProperty(target, key, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
  const attempt = (action) => { try { return action(); } catch { return undefined; } };
  function copy(whole, names) {
    if (typeof whole === "function") return whole;
    const copied = {};
    for (let i = 0; i < names.length; i++) if (names[i] in whole) define(copied, names[i], attempt(() => whole[names[i]]));
    return copied;
  }
  // Exports of the same names that throw when code calls them; data as they are.
  function closed(name) {
    const refuse = () => { throw new ErrorClass(`Using module "node:${name}" is not allowed`); };
    if (name in UNSEEN) return new ProxyClass({}, { __proto__: null, get: (_, key) => typeof key === "string" && key !== "then" ? refuse : undefined });
    const whole = host.builtin(name), names = ownKeys(whole), shown = {};
    for (let i = 0; i < names.length; i++) {
      const key = names[i], value = attempt(() => whole[key]);
      if (typeof value === "function") define(shown, key, function () { refuse(); });
      else if (typeof value !== "object") define(shown, key, value);
      else define(shown, key, attempt(() => JSON.parse(JSON.stringify(value))));
    }
    return shown;
  }
  // Timers are objects in Node, and packages call their methods. A cell waits for no timer, so that none
  // has to be let go.
  class Timeout {
    #id; #start;
    constructor(start) {
      this.#start = start;
      this.#id = start();
    }
    ref() { return this; }
    unref() { return this; }
    hasRef() { return true; }
    refresh() {
      clear(this.#id);
      this.#id = this.#start();
      return this;
    }
    close() {
      clear(this.#id);
      return this;
    }
    [SymbolClass.toPrimitive]() { return this.#id; }
    [SymbolClass.dispose]() { clear(this.#id); }
  }
  for (const [name, start] of [["setTimeout", setNumbered], ["setInterval", repeatNumbered]])
    globals[name] = {
      [name](callback, delay) {
        const given = arguments; // a spread would run what a guest has put behind the iteration of arrays
        return new Timeout(() => apply(start, undefined, given));
      },
    }[name];
  const { setTimeout, setInterval } = globals;
  // Packages read files of their own, such as a manifest or a style sheet, even where code has no files.
  function ownFiles() {
    const shown = closed("fs");
    const about = (path) => parse(host.ask("file", "", `${path}`));
    function read(path, options) {
      const { base64, code, message } = about(path);
      if (base64 === undefined) throw failure(path, code, message);
      const encoding = typeof options === "string" ? options : options?.encoding, bytes = BufferClass.from(base64, "base64");
      return encoding === undefined || encoding === null ? bytes : bytes.toString(encoding);
    }
    function failure(path, code, message) {
      const error = new ErrorClass(message ?? `ENOENT: no such file or directory, open '${path}'`);
      define(error, "code", code ?? "ENOENT");
      return error;
    }
    function access(path) {
      const { exists, code, message } = about(path);
      if (!exists) throw failure(path, code, message);
    }
    define(shown, "readFileSync", read);
    define(shown, "accessSync", access);
    // Loaders of native addons look for them so; `require` then refuses what they find.
    define(shown, "readdirSync", (path, options) => {
      if (options?.withFileTypes || options?.recursive) throw new ErrorClass('Using module "node:fs" is not allowed');
      const { names } = parse(host.ask("folder", "", `${path}`));
      if (names === undefined) throw failure(path);
      return names;
    });
    define(shown, "existsSync", (path) => about(path).exists === true);
    return shown;
  }
  // Arguments from one of them on, for `apply`; no code of a guest runs.
  function list(given, from) {
    const found = { __proto__: null, length: given.length - from };
    for (let i = from; i < given.length; i++) found[i - from] = given[i];
    return found;
  }
  function soon(callback) {
    const given = list(arguments, 1);
    return setTimeout(() => { apply(callback, undefined, given); }, 0);
  }
  const later = (ms, value, options) => new Promise((resolve, reject) => {
    const signal = options?.signal;
    if (signal === undefined) {
      setTimeout(resolve, ms, value);
      return;
    }
    if (typeof signal?.aborted !== "boolean" || typeof signal.addEventListener !== "function") {
      throw Object.assign(new TypeError("the option signal takes an AbortSignal"), { code: "ERR_INVALID_ARG_TYPE" });
    }
    let timer;
    const stop = () => {
      clearTimeout(timer);
      const error = Object.assign(new Error("The operation was aborted", { cause: signal.reason }), { code: "ABORT_ERR" });
      reject(defineProperty(error, "name", { __proto__: null, value: "AbortError", writable: true, configurable: true }) && error);
    };
    if (signal.aborted) {
      stop();
      return;
    }
    timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve(value);
    }, ms);
    signal.addEventListener("abort", stop, { once: true });
  });
  // What `util.promisify` takes in place of a timer: its callback is not the last argument.
  const promisified = Symbol.for("nodejs.util.promisify.custom");
  define(setTimeout, promisified, later);
  define(soon, promisified, (value, options) => later(0, value, options));
  async function* repeated(ms, value, options) {
    for (;;) yield await later(ms, value, options);
  }
  const stream = (fd) => ({
    fd, isTTY: false, columns: 80, writable: true, on() { return this; }, once() { return this; }, end() {}, getColorDepth: () => 1, hasColors: () => false,
    write(text) {
      const line = typeof text === "string" ? text : host.text(text);
      write(line.endsWith("\n") ? line.slice(0, -1) : line);
      return true;
    },
  });
  function makeProcess() {
    const same = () => process;
    function nextTick(callback) {
      const given = list(arguments, 1);
      queueMicrotask(() => { apply(callback, undefined, given); });
    }
    const hrtime = () => { const ms = performance.now(); return [Math.floor(ms / 1000), Math.floor((ms % 1000) * 1e6)]; };
    hrtime.bigint = () => BigInt(Math.floor(performance.now() * 1e6));
    const process = {
      title: "node", argv: ["node"], argv0: "node", execArgv: [], execPath: "node", env: {}, exitCode: undefined, pid: 1, ppid: 0,
      ...about, release: { name: "node" }, report: { getReport: () => ({ header: { glibcVersionRuntime: "2.28" }, sharedObjects: [] }) }, features: {}, config: { variables: {} }, stdout: stream(1), stderr: stream(2),
      cwd: () => cwd ?? "/", nextTick, hrtime,
      uptime: () => performance.now() / 1000, emitWarning() {}, memoryUsage: () => ({ rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 }),
      on: same, once: same, off: same, addListener: same, removeListener: same, removeAllListeners: same, prependListener: same, emit: () => false,
      listeners: () => [], listenerCount: () => 0, umask: () => 18,
      exit() { throw new ErrorClass("process.exit() is not allowed"); },
      binding() { throw new ErrorClass("process.binding() is not allowed"); },
    };
    return process;
  }
  // What tells about the machine is made up: the same everywhere, and harmless to use.
  function makeOs() {
    const whole = host.builtin("os"), made = copy(whole, PARTS.os), count = whole.availableParallelism();
    const values = {
      hostname: "localhost", homedir: "/", release: "0.0.0", version: "", machine: "", uptime: () => Math.floor(performance.now() / 1000),
      totalmem: 4 * 2 ** 30, freemem: 2 * 2 ** 30, loadavg: () => [0, 0, 0], networkInterfaces: () => ({}), getPriority: 0,
      cpus: () => Array.from({ length: count }, () => ({ model: "", speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } })),
      userInfo: () => ({ uid: 1000, gid: 1000, username: "user", homedir: "/", shell: null }),
      setPriority() { throw new ErrorClass("os.setPriority() is not allowed"); },
    };
    for (const name of ownKeys(values)) {
      const value = values[name];
      define(made, name, typeof value === "function" ? value : { [name]: () => value }[name]);
    }
    return made;
  }
  const makers = {
    __proto__: null,
    process: makeProcess,
    os: makeOs,
    module: (requireFrom) => ({ createRequire: (base) => requireFrom("" + base), builtinModules: [], isBuiltin: (name) => ("" + name).startsWith("node:") }),
    console: () => globals.console ?? {},
    timers: () => ({ setTimeout, setInterval, clearTimeout, clearInterval, setImmediate: soon, clearImmediate: clearTimeout }),
    "timers/promises": () => ({
      setTimeout: later, setInterval: repeated, setImmediate: soon[promisified],
      scheduler: { wait: (ms, options) => later(ms, undefined, options), yield: () => later(0) },
    }),
    worker_threads: () => ({ ...closed("worker_threads"), ...copy(host.builtin("worker_threads"), THREADS) }),
    tty: () => ({ isatty: () => false }),
  };
  define(globals, "global", globals);
  define(globals, "Buffer", host.builtin("buffer").Buffer);
  define(globals, "setImmediate", soon);
  define(globals, "clearImmediate", (id) => clearTimeout(id));

  // Of no use before a package asks for them, and slow to load.
  const SOME = { __proto__: null, "stream/web": ["ReadableStream", "WritableStream", "TransformStream", "ByteLengthQueuingStrategy",
    "CountQueuingStrategy", "CompressionStream", "DecompressionStream", "TextDecoderStream", "TextEncoderStream"], buffer: ["Blob", "File"], worker_threads: ["MessageChannel", "MessagePort"] };
  const offer = (name, load) => {
    const put = (value) => defineProperty(globals, name, { __proto__: null, value, writable: true, enumerable: false, configurable: true });
    defineProperty(globals, name, {
      __proto__: null, enumerable: false, configurable: true, set: put,
      get() {
        const found = load();
        put(found);
        host.loaded(name, found);
        return found;
      },
    });
  };
  for (const module of ownKeys(SOME)) for (const name of SOME[module]) if (!(name in globals)) offer(name, () => host.builtin(module)[name]);
  for (const name of ["Headers", "FormData", "WebSocket"]) if (host.web) offer(name, () => host.web(name));
  for (const name of ["fetch", "Request", "Response"]) if (host.web) offer(name, () => adaptedToGuests()[name]);

  // Node's own `fetch` takes signals and form data of its own realm alone; the guest's signals run on the
  // guest's clock.
  const { AbortController, AbortSignal } = globals;
  let adapted;
  function adaptedToGuests() {
    if (adapted !== undefined) return adapted;
    const Native = host.web("Request"), Controller = host.web("AbortController"), nativeFetch = host.web("fetch");
    const { any } = AbortSignal, isAborted = getOwnPropertyDescriptor(AbortSignal.prototype, "aborted").get;
    const reasonOf = getOwnPropertyDescriptor(AbortSignal.prototype, "reason").get, { addEventListener } = globals.EventTarget.prototype;
    const isOwn = (signal) => {
      try {
        apply(isAborted, signal, []);
        return true;
      } catch {
        return false;
      }
    };
    function nativeOf(signal) {
      const controller = new Controller(), end = () => controller.abort(apply(reasonOf, signal, []));
      if (apply(isAborted, signal, [])) end();
      else apply(addEventListener, signal, ["abort", end, { __proto__: null, once: true }]);
      return controller.signal;
    }
    // A body as Node takes it: it knows form data by a class of its own realm.
    const Form = host.builtin("url").URLSearchParams, formText = globals.URLSearchParams.prototype.toString;
    function bodyOf(body) {
      if (typeof body !== "object" || body === null) return body;
      try {
        return new Form(apply(formText, body, []));
      } catch {
        return body; // another kind
      }
    }
    // Options as Node takes them, and the guest's signal among them.
    function taken(init) {
      if ((typeof init !== "object" && typeof init !== "function") || init === null) return [init, undefined];
      const { signal } = init, options = { ...init, body: bodyOf(init.body) };
      if (options.body === undefined) delete options.body;
      if (isOwn(signal)) options.signal = nativeOf(signal);
      return [options, signal];
    }
    const Response = new ProxyClass(host.web("Response"), {
      __proto__: null,
      construct: (target, given, made) => construct(target, given.length > 0 ? [bodyOf(given[0]), ...given.slice(1)] : given, made),
    });
    const signals = new WeakMap(), get = uncurry(signals.get), set = uncurry(signals.set), { clone } = Native.prototype;
    class Request extends Native {
      constructor(input, init) {
        if (arguments.length === 0) super();
        const [options, signal] = taken(init);
        super(input, options);
        const followed = isOwn(signal) ? signal : signal === undefined && (typeof input === "object" && input !== null) ? get(signals, input) : undefined;
        set(signals, this, followed === undefined ? new AbortController().signal : apply(any, AbortSignal, [[followed]]));
      }
      get signal() { return get(signals, this) ?? super.signal; }
      clone() { return new Request(apply(clone, this, []), { __proto__: null, signal: this.signal }); }
    }
    function fetch(input, init) {
      try {
        return apply(nativeFetch, undefined, [input, ...(arguments.length > 1 ? [taken(init)[0]] : [])]);
      } catch (error) {
        return PromiseClass.reject(error);
      }
    }
    return adapted = { __proto__: null, Request, Response, fetch };
  }

  function make(name, form, requireFrom) {
    if (form === "closed") return name === "fs" ? ownFiles() : closed(name);
    if (form === "made") return makers[name](requireFrom);
    const whole = host.builtin(name);
    if (name === "fs/promises") return withoutDescriptors(whole);
    if (name === "fs") return { ...withoutDescriptors(whole), promises: withoutDescriptors(whole.promises) };
    return copy(whole, form === "part" ? PARTS[name] : ownKeys(whole));
  }
  return (name, form, requireFrom) => {
    const key = form + ":" + name;
    return made[key] ??= make(name, form, requireFrom);
  };
}
