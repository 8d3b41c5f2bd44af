// The guest's side of its modules: packages that are written with `require`, `import.meta`.
//
// Evaluated in the guest's realm, before any code of the guest. Functions of `host` take and return
// text, but for `compile` and `requireModule`, whose functions and namespaces are of this realm.
(host, builtins, cwd) => {
  "use strict";
  const { parse, stringify } = JSON;
  const { apply, ownKeys, defineProperty } = Reflect;
  const ErrorClass = Error, TypeErrorClass = TypeError;
  const slice = Function.prototype.call.bind(String.prototype.slice);
  const lastIndexOf = Function.prototype.call.bind(String.prototype.lastIndexOf);
  const decode = decodeURIComponent;
  const weakAdd = Function.prototype.call.bind(WeakSet.prototype.add), weakHas = Function.prototype.call.bind(WeakSet.prototype.has);
  const refusals = new WeakSet(); // errors that say that there is no module, or none for code
  const addons = { __proto__: null }; // the messages of those that say so of a native addon
  const loaded = { __proto__: null }; // address -> module of `require`
  let cells = 0;

  const define = (target, key, value) => defineProperty(target, key, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
  const pathOf = (address) => decode(slice(address, 7)); // file://
  const folderOf = (path) => slice(path, 0, lastIndexOf(path, "/")) || "/";
  const { setPrototypeOf } = Object, bare = (value) => setPrototypeOf(value, null);
  const ask = (kind, base, name) => bare(parse(host.ask(kind, base, name)));
  // Names of built-in modules, and their forms for cells and for packages; what only `node:` means.
  const [forms, prefixed] = parse(host.forms);
  for (const table of [forms, forms.cell, forms.package, prefixed]) bare(table);
  function moduleError(code, message) {
    const error = new ErrorClass(message);
    define(error, "code", code);
    weakAdd(refusals, error);
    return error;
  }
  function nameOf(specifier) {
    const isPrefixed = slice(specifier, 0, 5) === "node:", name = isPrefixed ? slice(specifier, 5) : specifier;
    return isPrefixed || prefixed[name] === undefined && forms.cell[name] !== undefined ? name : undefined;
  }
  function builtin(name, specifier, forPackage) {
    const form = forms[forPackage ? "package" : "cell"][name];
    if (form === undefined) return { __proto__: null, code: "ERR_MODULE_NOT_FOUND", message: `Module not found: ${slice(specifier, 0, 200)}` };
    if (form === null) return { __proto__: null, code: "ERR_ACCESS_DENIED", message: `Importing module "${specifier}" is not allowed` };
    return { __proto__: null, name: "node:" + name, kind: "builtin:" + form, local: false };
  }
  // The module that a specifier means. The host is asked for all but built-in modules, and may answer
  // that one of a package's own names means such.
  function find(kind, base, specifier, forPackage) {
    const wanted = "" + specifier, name = nameOf(wanted);
    let found = name === undefined ? ask(kind, base, wanted) : builtin(name, wanted, forPackage);
    if (found.kind === "builtin") found = builtin(nameOf(found.name), wanted, forPackage);
    if (found.code === undefined) return found;
    // Packages look for these two to learn that an optional part is missing.
    if (found.code === "ERR_DLOPEN_DISABLED") addons[found.message] = true;
    if (kind !== "require" || found.code !== "ERR_MODULE_NOT_FOUND") throw moduleError(found.code, found.message);
    throw moduleError("MODULE_NOT_FOUND", `Cannot find module '${slice(wanted, 0, 200)}'`);
  }

  // For packages that look at the class while they load.
  class NoSharedMemory {
    constructor() { throw new ErrorClass("SharedArrayBuffer is not allowed"); }
    get byteLength() { throw new TypeErrorClass("no shared memory"); }
    get growable() { throw new TypeErrorClass("no shared memory"); }
    get maxByteLength() { throw new TypeErrorClass("no shared memory"); }
  }
  defineProperty(NoSharedMemory, "name", { __proto__: null, value: "SharedArrayBuffer" });

  // -- require ------------------------------------------------------------------------------

  function load(address, kind) {
    if (slice(kind, 0, 8) === "builtin:") return builtins(slice(address, 5), slice(kind, 8), requireFrom);
    if (loaded[address] !== undefined) return loaded[address].exports;
    if (kind === "module") return host.requireModule(address);
    const module = { id: address, filename: pathOf(address), exports: {}, loaded: false, children: [], paths: [] };
    loaded[address] = module;
    try {
      run(module, address, kind);
    } catch (error) {
      delete loaded[address];
      throw error;
    }
    module.loaded = true;
    return module.exports;
  }
  // As for `import`, which would otherwise get the exports of a module that is half done.
  function imported(address, kind) {
    if (loaded[address]?.loaded === false)
      throw moduleError("ERR_REQUIRE_CYCLE_MODULE", `import of the module ${address} in a cycle with require(); use import() later`);
    return load(address, kind);
  }
  function run(module, address, kind) {
    const { source, code, message } = ask("source", "", address);
    if (code !== undefined) throw moduleError(code, message);
    if (kind === "json") {
      module.exports = parse(source);
      return;
    }
    const scope = { __proto__: null, SharedArrayBuffer: NoSharedMemory, process: builtins("process", "made", requireFrom) };
    const compiled = host.compile(address, source, scope), path = module.filename;
    apply(compiled, module.exports, [module.exports, module.require = requireFrom(address), module, path, folderOf(path)]);
  }
  function requireFrom(base) {
    const address = slice(base, 0, 5) === "file:" ? base : "file://" + base;
    const require = { require(specifier) {
      const { name, kind } = find("require", address, specifier, true);
      return load(name, kind);
    } }.require;
    define(require, "resolve", (specifier) => {
      const { name } = find("require", address, specifier, true);
      return slice(name, 0, 5) === "file:" ? pathOf(name) : name;
    });
    define(require, "cache", {});
    return require;
  }

  // -- import -------------------------------------------------------------------------------

  // Names and values that a module of another kind exports; no names, and the error, if it throws.
  function exported(make) {
    try {
      const whole = make(), names = ["default"], values = [whole];
      if ((typeof whole === "object" && whole !== null) || typeof whole === "function") {
        const keys = ownKeys(whole);
        for (let i = 0; i < keys.length; i++) {
          const key = keys[i];
          if (typeof key !== "string" || key === "default" || typeof whole === "function" && (key === "prototype" || key === "length" || key === "name")) continue;
          define(names, names.length, key);
          let value;
          try { value = whole[key]; } catch { /* a getter that throws: nothing is exported */ }
          define(values, values.length, value);
        }
      }
      return [names, values];
    } catch (error) {
      return [undefined, explained(error)];
    }
  }
  // Loaders of addons try several, then throw an error of their own that guesses why none is there. Its
  // causes have the messages of all attempts.
  function explained(error) {
    try {
      let cause = error;
      for (let i = 0; i < 50 && typeof cause === "object" && cause !== null && !weakHas(refusals, error); i++) {
        const { message } = cause;
        if (typeof message === "string" && addons[message] === true) return moduleError("ERR_DLOPEN_DISABLED", message);
        cause = cause.cause;
      }
    } catch { /* a getter that throws */ }
    return error;
  }
  const resolver = (base, forPackage) => ({ resolve: (specifier) => find("import", base, specifier, forPackage).name }).resolve;
  function fillMeta(meta, address, forPackage) {
    define(meta, "url", address);
    if (slice(address, 0, 5) !== "file:") return; // one of a bundle
    define(meta, "filename", pathOf(address));
    define(meta, "dirname", folderOf(pathOf(address)));
    define(meta, "main", false);
    define(meta, "resolve", resolver(address, forPackage));
  }
  return {
    __proto__: null, find, imported, exported, fillMeta, moduleError,
    // As frames of stacks name it: a path for what is required, an address for what is imported.
    fileName: (address) => loaded[address]?.filename ?? address,
    // What the cell is to import; other names are for the host's loaders.
    entryOf: (specifier) => nameOf(specifier) !== undefined || ask("has", "", specifier) ? host.cell + specifier : undefined,
    isRefusal: (error) => weakHas(refusals, error),
    beginCell() { cells++; },
    meta() {
      const name = `.interpstack_cell_${cells}.mjs`, meta = { __proto__: null };
      if (cwd === null) {
        define(meta, "url", `interpstack:${name}`);
      } else {
        define(meta, "url", `${host.address(cwd)}/${name}`);
        define(meta, "filename", `${cwd === "/" ? "" : cwd}/${name}`);
        define(meta, "dirname", cwd);
      }
      define(meta, "main", true);
      define(meta, "resolve", resolver("", false));
      return meta;
    },
  };
}
