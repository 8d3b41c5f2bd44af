// Node's built-in modules as a guest gets them: whole, in part, as a stand-in, or closed.
//
// Evaluated in the guest's realm. The host decides on the form; see `modules/builtin.py`. Objects that
// hold a module's exports are copies, so that no guest replaces what Node itself calls.
(host, write, cwd) => {
  "use strict";
  const { apply, ownKeys, getPrototypeOf, defineProperty } = Reflect;
  const globals = globalThis, about = JSON.parse(host.about);
  const ErrorClass = Error, ProxyClass = Proxy;
  const made = { __proto__: null }; // form and name -> exports
  const { setTimeout, setInterval, clearTimeout, clearInterval, queueMicrotask, performance } = globals;
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
  const join = Function.prototype.call.bind(Array.prototype.join), quote = JSON.stringify;
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
  const soon = (callback, ...args) => setTimeout(callback, 0, ...args);
  const later = (ms, value) => new Promise((resolve) => { setTimeout(resolve, ms, value); });
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
    const hrtime = () => { const ms = performance.now(); return [Math.floor(ms / 1000), Math.floor((ms % 1000) * 1e6)]; };
    hrtime.bigint = () => BigInt(Math.floor(performance.now() * 1e6));
    const process = {
      title: "node", argv: ["node"], argv0: "node", execArgv: [], execPath: "node", env: {}, exitCode: undefined, pid: 1, ppid: 0,
      ...about, release: { name: "node" }, features: {}, config: { variables: {} }, stdout: stream(1), stderr: stream(2),
      cwd: () => cwd ?? "/", nextTick: (callback, ...args) => queueMicrotask(() => callback(...args)), hrtime,
      uptime: () => performance.now() / 1000, emitWarning() {}, memoryUsage: () => ({ rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 }),
      on: same, once: same, off: same, addListener: same, removeListener: same, removeAllListeners: same, prependListener: same, emit: () => false,
      listeners: () => [], listenerCount: () => 0, umask: () => 18,
      exit() { throw new ErrorClass("process.exit() is not allowed"); },
      binding() { throw new ErrorClass("process.binding() is not allowed"); },
    };
    return process;
  }
  const makers = {
    __proto__: null,
    process: makeProcess,
    module: (requireFrom) => ({ createRequire: (base) => requireFrom("" + base), builtinModules: [], isBuiltin: (name) => ("" + name).startsWith("node:") }),
    console: () => globals.console ?? {},
    timers: () => ({ setTimeout, setInterval, clearTimeout, clearInterval, setImmediate: soon, clearImmediate: clearTimeout }),
    "timers/promises": () => ({ setTimeout: later, setImmediate: (value) => later(0, value), scheduler: { wait: later, yield: () => later(0) } }),
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
        return found;
      },
    });
  };
  for (const module of ownKeys(SOME)) for (const name of SOME[module]) if (!(name in globals)) offer(name, () => host.builtin(module)[name]);
  for (const name of ["fetch", "Headers", "Request", "Response", "FormData", "WebSocket"]) if (host.web) offer(name, () => host.web(name));

  function make(name, form, requireFrom) {
    if (form === "closed") return closed(name);
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
