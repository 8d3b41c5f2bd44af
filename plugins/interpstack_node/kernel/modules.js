// Modules of a guest: bundles of the host's loaders, built-in modules, packages, and local files.
//
// Runs in the kernel's own realm, with `packages` (packages.js) as its hand in the guest's. A process of
// its own finds and reads all files (resolver.js); a kernel opens none for an import.
(kernel) => {
  "use strict";
  const { vm: { SourceTextModule, SyntheticModule }, context, guest, packages, ask, turn, enter, state, isOurs } = kernel;
  const modules = new Map(), places = new Map(); // by name; how each was found
  const locals = new Set(); // names of files of the working folder, of earlier cells, too
  const known = new Map(); // by name, for modules of packages: [source, {specifier: [name, kind]}]
  const links = new WeakMap(); // modules whose imports were asked for: whether they are all there
  const LINKS_AT_ONCE = typeof SourceTextModule.prototype.linkRequests === "function"; // Node 24.8 and later
  let busy = Promise.resolve(); // graphs are linked one after the other

  const find = (base, specifier) => base === "" || base.startsWith("file:") ? findFile(base, specifier) : findBundled(base, specifier);
  // The host resolves a name as `base` imports it, and has the source.
  function findBundled(base, specifier) {
    const [name, source, why] = ask("R", [base, specifier]);
    if (source === null && !modules.has(name)) throw guest.absent(why);
    if (!modules.has(name)) modules.set(name, text(name, source));
    return modules.get(name);
  }
  function findFile(base, specifier) {
    const found = foreseen(base, specifier) ?? packages.find("import", base, specifier, isPackage(base));
    const { name, kind, local } = found, key = kind === "builtin:closed" ? `${name}:closed` : name;
    if (!modules.has(key)) {
      places.set(key, { local });
      if (local) locals.add(name);
      modules.set(key, kind === "module" ? file(name) : made(key, () => packages.imported(name, kind)));
    }
    return modules.get(key);
  }
  const isPackage = (base) => base !== "" && !locals.has(base);
  // As the host has told with an importer's graph.
  function foreseen(base, specifier) {
    const imports = known.get(base)?.[1];
    if (imports === undefined || !Object.hasOwn(imports, specifier)) return undefined;
    const [name, kind] = imports[specifier];
    return { name, kind, local: false };
  }
  function sourceOf(name) {
    const { local } = places.get(name);
    if (!local && known.has(name)) return known.get(name)[0];
    const { source, modules: graph, code, message } = ask("N", [local ? "source" : "graph", "", name]);
    if (code !== undefined) throw packages.moduleError(code, message);
    if (local) return source;
    for (const address of Object.keys(graph)) known.set(address, graph[address]);
    return known.get(name)[0];
  }
  function text(name, source) {
    return new SourceTextModule(source, {
      identifier: name, context,
      importModuleDynamically: (wanted) => load(name, wanted),
      initializeImportMeta: (meta) => packages.fillMeta(meta, name, isPackage(name)),
    });
  }
  function file(name) {
    const source = sourceOf(name);
    if (!places.get(name).local && source.includes("process")) {
      // A package may take `process` for a global, which cells have not.
      try { return text(name, `import process from "node:process"; ${source}`); } catch { /* it declares the name itself */ }
    }
    return text(name, source);
  }
  // A module whose exports are there before it is linked: what is not written as a module has to run
  // for its names to be known.
  function made(name, make) {
    let names, values;
    if (!enter(() => { [names, values] = packages.exported(make); })) throw interrupted();
    if (names === undefined) throw values;
    return new SyntheticModule(names, function () {
      for (let i = 0; i < names.length; i++) this.setExport(names[i], values[i]);
    }, { identifier: name, context });
  }

  const interrupted = () => guest.error("Error", "interrupted");
  function evaluated(module) {
    let done;
    if (!enter(() => { done = module.evaluate(); })) throw interrupted();
    return done;
  }
  // Whatever is found may be required, which loads it whole: a module that is not linked yet, because one
  // of its own imports requires it, is part of a cycle.
  function linkAtOnce(root) {
    const pending = [root];
    while (pending.length > 0) {
      const module = pending.pop();
      if (module.status !== "unlinked" || links.get(module)) continue;
      if (links.has(module))
        throw packages.moduleError("ERR_REQUIRE_CYCLE_MODULE", `require() of the ES module ${root.identifier} in a cycle; use import()`);
      links.set(module, false);
      try {
        const requests = module.moduleRequests.map(({ specifier }) => find(module.identifier, specifier));
        module.linkRequests(requests);
        links.set(module, true);
        pending.push(...requests);
      } finally {
        if (!links.get(module)) links.delete(module);
      }
    }
    if (root.status === "unlinked" || root.status === "linking") root.instantiate();
  }
  function forgetUnlinked() {
    for (const [name, each] of modules) if (each.status !== "linked" && each.status !== "evaluated" && each.status !== "evaluating") modules.delete(name);
  }
  async function link(module) {
    if (LINKS_AT_ONCE) {
      try {
        linkAtOnce(module);
      } catch (error) {
        forgetUnlinked();
        throw error;
      }
      return;
    }
    const before = busy;
    let done;
    busy = new Promise((resolve) => { done = resolve; });
    await before;
    try {
      if (module.status === "unlinked") await module.link((wanted, from) => find(from.identifier, wanted));
    } catch (error) {
      forgetUnlinked();
      throw error;
    } finally {
      done();
    }
  }
  async function load(base, specifier) {
    state.loading++;
    state.imported = true;
    try {
      let module;
      try {
        module = find(base, specifier);
        await link(module);
        if (module.status === "linked") await evaluated(module);
        else if (module.status === "evaluating") await until(() => module.status !== "evaluating");
      } catch (error) {
        forgetFailed();
        throw told(error);
      }
      if (module.status === "errored") throw module.error;
      return module.namespace;
    } finally {
      if (state.loading > 0) state.loading--;
    }
  }
  // A later import tries again.
  function forgetFailed() {
    for (const [name, each] of modules) if (each.status === "errored") modules.delete(name);
  }
  // What `require()` of an ES module returns, as in Node: its namespace, or what it exports as
  // `module.exports`; with `__esModule` beside a default export.
  const FACADE = "export * from 'x'; export { default } from 'x'; export const __esModule = true;";
  const facades = new WeakMap(); // modules -> their namespaces with `__esModule`
  function required(address) {
    if (!LINKS_AT_ONCE)
      throw packages.moduleError("ERR_REQUIRE_ESM", `require() of the ES module ${address} needs Node 24.8 or later; use import()`);
    let module;
    try {
      if (!modules.has(address)) {
        places.set(address, { local: false });
        modules.set(address, file(address));
      }
      module = modules.get(address);
      if (module.status === "unlinked") linkAtOnce(module);
      if (module.status === "evaluating")
        throw packages.moduleError("ERR_REQUIRE_CYCLE_MODULE", `require() of the ES module ${address} in a cycle; use import()`);
      if (module.hasAsyncGraph?.()) throw awaitsAtTop(address);
      if (module.status === "linked") {
        const loaded = evaluated(module);
        loaded.catch(() => {}); // the error is thrown here
        if (module.status === "evaluating") throw awaitsAtTop(address);
      }
      if (module.status === "errored") throw module.error;
    } catch (error) {
      forgetFailed();
      if (module === undefined || module.status === "unlinked") modules.delete(address);
      throw told(error);
    }
    const { namespace } = module;
    if (Object.hasOwn(namespace, "module.exports")) return namespace["module.exports"];
    if (!Object.hasOwn(namespace, "default") || Object.hasOwn(namespace, "__esModule")) return namespace;
    if (facades.has(module)) return facades.get(module);
    const facade = new SourceTextModule(FACADE, { identifier: `${address}:required`, context });
    facade.linkRequests([module]);
    facade.instantiate();
    evaluated(facade);
    facades.set(module, facade.namespace);
    return facade.namespace;
  }
  const awaitsAtTop = (address) => packages.moduleError("ERR_REQUIRE_ASYNC_MODULE", `require() of the ES module ${address}, which awaits at its top level; use import()`);
  async function until(done) {
    while (!done()) await turn();
  }
  // An error of this realm as one of the guest's; errors of guests as they are.
  const told = (error) => isOurs(error) ? guest.error(String(error.name), String(error.message)) : error;
  return {
    load, required,
    // A cell begins: files may have changed since the last one.
    forgetLocal() {
      state.loading = 0; // a load that was stopped has not told its end
      for (const [name, { local }] of places) {
        if (!local) continue;
        places.delete(name);
        modules.delete(name);
      }
    },
  };
}
