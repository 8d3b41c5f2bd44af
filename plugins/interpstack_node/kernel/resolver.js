// Finds and reads modules for kernels, which open no files: Node resolves, and what it may read is
// decided by its permissions and the sandbox around it.
//
// The main program of a process that runs no code of guests or packages. Questions come from guests.
(require, process, Buffer, connection, stops, places) => {
  "use strict";
  const { packages, roots, working } = places;
  const { realpathSync: { native: realpath }, statSync, readFileSync, readdirSync } = require("node:fs");
  const { basename, dirname, extname, isAbsolute, normalize, resolve: absolute } = require("node:path");
  const { createRequire } = require("node:module"), { fileURLToPath, pathToFileURL } = require("node:url");
  const { Script, SourceTextModule, constants: { USE_MAIN_CONTEXT_DEFAULT_LOADER } } = require("node:vm");
  const ABSENT = "ERR_MODULE_NOT_FOUND", SHOWN_CHARS = 200, SPECIFIER_CHARS = 2000, ADDRESS_CHARS = 12_500;
  const FILE_BYTES = 16 * 2 ** 20, FOLDER_NAMES = 10_000;
  const GRAPH_MODULES = 2000, GRAPH_CHARS = 8 * 2 ** 20, KEPT_GRAPHS = 8; // the kernel asks for what is beyond
  const PATH = /^(?:\.{1,2}[/\\]|\/|file:|\.{1,2}$)/, UNPRINTABLE = /(?! )[\p{C}\p{Z}]/u;
  const KINDS = { __proto__: null, ".mjs": "module", ".cjs": "commonjs", ".json": "json" };
  let resolve; // `import.meta.resolve` with an importer's address

  class Refusal extends Error {
    constructor(code, message) {
      super(message);
      this.code = code;
    }
  }
  const shown = (specifier) => specifier.slice(0, SHOWN_CHARS);
  const notFound = (specifier) => new Refusal(ABSENT, `Module not found: ${shown(specifier)}`);
  const unsupported = (specifier, advice) =>
    new Refusal("ERR_UNSUPPORTED_SPECIFIER", `Unsupported import specifier ${JSON.stringify(shown(specifier))}. ${advice}`);
  const attempt = (action) => { try { return action(); } catch { return undefined; } };

  // -- paths --------------------------------------------------------------------------------

  const inside = (path, folder) => path === folder || path.startsWith(folder === "/" ? folder : `${folder}/`);
  const inPackages = (real) => roots.some((root) => inside(real, root));
  const isLocal = (real) => working !== null && inside(real, working) && !inPackages(real);
  const statOf = (path) => attempt(() => statSync(path));
  const realOf = (path) => attempt(() => realpath(path));
  function realFile(path) { // without links on the way, wherever those lead
    const real = realOf(path);
    return real !== undefined && statOf(real)?.isFile() ? real : undefined;
  }
  function pathOf(address) {
    const url = address.length > ADDRESS_CHARS ? null : URL.parse(address);
    if (url?.protocol !== "file:" || url.search !== "" || url.hash !== "") throw notFound(address);
    return attempt(() => fileURLToPath(url)) ?? throwIt(notFound(address));
  }
  function throwIt(error) { throw error; }

  // What Node remembers of the folders, and this program, too: a process whose memory is old is replaced.
  const noted = new Map(), kinds = new Map(); // path -> stamp; folder -> kind of its files
  function stampOf(path) {
    const stat = statOf(path);
    return stat && `${stat.mtimeMs} ${stat.size}`;
  }
  const isOld = () => [...noted].some(([path, stamp]) => stampOf(path) !== stamp);
  for (const root of roots) noted.set(root, stampOf(root));

  // -- files of packages --------------------------------------------------------------------

  // The kind of the files in a folder whose names leave it open.
  function kindIn(folder) {
    if (kinds.has(folder)) return kinds.get(folder);
    let kind = "commonjs";
    if (inPackages(folder) && !roots.includes(folder) && basename(folder) !== "node_modules") {
      const outer = kindIn(dirname(folder)), path = `${folder}/package.json`;
      noted.set(path, stampOf(path));
      const text = attempt(() => readFileSync(path, "utf8"));
      kind = text === undefined ? outer : attempt(() => JSON.parse(text).type) === "module" ? "module" : "commonjs";
    }
    kinds.set(folder, kind);
    return kind;
  }
  function packageFile(path, specifier) {
    const real = realFile(path);
    if (real === undefined || !inPackages(real)) throw notFound(specifier);
    const kind = kindIn(dirname(real)), ending = extname(real);
    if (ending === ".node") throw new Refusal("ERR_DLOPEN_DISABLED", `Native addons are not allowed: ${shown(specifier)}`);
    if (ending === ".wasm") throw unsupported(specifier, "WebAssembly modules are not supported.");
    return { name: pathToFileURL(real).href, kind: KINDS[ending] ?? kind, local: false };
  }
  function checkBare(specifier) {
    const parts = specifier.split("/"), name = parts.slice(0, specifier.startsWith("@") ? 2 : 1);
    const isWrong = /[\\:%]|^ | $/.test(specifier) || name.some((part) => part === "" || part.startsWith(".")) ||
      parts.some((part) => part === ".." || part.toLowerCase() === "node_modules") || specifier.startsWith("@") && name.length < 2;
    if (isWrong) throw unsupported(specifier, 'Use a package name as "lodash-es", or a path as "./x.mjs".');
  }
  // As Node resolves it: a path, or the name of a built-in module.
  function resolved(kind, importer, specifier) {
    if (kind === "import") {
      const url = resolve(specifier, pathToFileURL(importer).href);
      if (url.startsWith("node:")) return url;
      const path = url.startsWith("file:") ? fileURLToPath(url) : throwIt(notFound(specifier));
      // Node guesses no endings here. Cells may leave them out.
      if (realFile(path) !== undefined || PATH.test(specifier)) return path;
    }
    return createRequire(importer).resolve(specifier);
  }
  function forPackage(kind, importer, specifier, importers = [importer]) {
    for (const each of importers) {
      let path;
      try {
        path = resolved(kind, each, specifier);
      } catch ({ code }) {
        if (code === "ERR_PACKAGE_PATH_NOT_EXPORTED" || code === "ERR_INVALID_PACKAGE_TARGET")
          throw new Refusal("ERR_PACKAGE_PATH_NOT_EXPORTED", `Package path not exported: ${shown(specifier)}`);
        if (code === "ERR_INVALID_PACKAGE_CONFIG") throw new Refusal(code, `Package with an invalid package.json: ${shown(specifier)}`);
        continue; // there is none, or it is out of reach
      }
      if (!isAbsolute(path)) return { name: path.startsWith("node:") ? path : `node:${path}`, kind: "builtin", local: false };
      const real = realFile(path);
      if (real !== undefined && inPackages(real)) return packageFile(real, specifier);
    }
    throw notFound(specifier);
  }
  const NAMED = packages.map((folder) => `${folder}/.cell.mjs`); // importers that find what is in these folders

  // -- cells and files of the working folder ------------------------------------------------

  function local(importer, specifier) {
    const url = URL.parse(specifier, pathToFileURL(importer ?? `${working ?? ""}/`).href) ?? throwIt(notFound(specifier));
    const ending = /[?#]/.test(url.href) ? "" : extname(url.pathname);
    url.search = url.hash = "";
    const path = normalize(pathOf(url.href)), real = realFile(path), isModule = (name) => name === ".js" || name === ".mjs";
    if (real !== undefined && inPackages(real)) return packageFile(real, specifier); // as `import.meta.resolve` tells it
    if (working === null) throw unsupported(specifier, "This engine has no working folder (its option working_dir); name a package.");
    if (statOf(path)?.isDirectory()) throw unsupported(specifier, "Directory imports are not supported.");
    if (!isModule(ending)) throw unsupported(specifier, "Only .js and .mjs files are supported.");
    if (!inside(path, working)) throw unsupported(specifier, "It leads out of the working folder (option working_dir).");
    if (real === undefined || !isLocal(real) || !isModule(extname(real))) throw notFound(specifier);
    return { name: pathToFileURL(real).href, kind: "module", local: true };
  }
  function find(kind, base, specifier) {
    if (specifier.length > SPECIFIER_CHARS || UNPRINTABLE.test(specifier)) throw notFound(specifier);
    const importer = base === "" ? undefined : pathOf(base), isPath = PATH.test(specifier);
    if (importer !== undefined && inPackages(importer)) {
      if (isPath || specifier.startsWith("#")) return forPackage(kind, importer, specifier);
      checkBare(specifier);
      return forPackage(kind, importer, specifier, [importer, ...NAMED]);
    }
    if (isPath) return local(importer, specifier);
    checkBare(specifier);
    if (specifier.startsWith("#")) throw notFound(specifier);
    return forPackage("import", undefined, specifier, NAMED);
  }

  // -- sources ------------------------------------------------------------------------------

  function textOf(name) {
    const real = realFile(pathOf(name));
    if (real === undefined || !inPackages(real) && !isLocal(real)) throw notFound(name);
    if (statOf(real)?.size > FILE_BYTES) throw new Refusal("ERR_MODULE_TOO_LARGE", `Module too large: ${shown(name)}`);
    return attempt(() => readFileSync(real, "utf8").replace(/^\ufeff/, "")) ?? throwIt(notFound(name));
  }
  function importsOf(name, source) {
    const module = attempt(() => new SourceTextModule(source, { identifier: name })); // which is not run
    return module?.moduleRequests?.map(({ specifier }) => specifier) ?? module?.dependencySpecifiers ?? [];
  }
  // A module with all that it imports: a kernel would otherwise ask for hundreds of files one by one.
  const graphs = new Map(); // entry -> text of the answer and stamps of the files
  function graphOf(entry) {
    const known = graphs.get(entry);
    if (known?.stamps.every(([path, stamp]) => stampOf(path) === stamp)) return known.text;
    const modules = { __proto__: null }, stamps = [], meant = new Map(), waiting = [entry]; // what a specifier means depends on the importer's folder
    let chars = 0;
    for (let i = 0; i < waiting.length && stamps.length < GRAPH_MODULES && chars < GRAPH_CHARS; i++) {
      const name = waiting[i], path = pathOf(name), stamp = stampOf(path);
      if (name in modules) continue;
      const source = i === 0 ? textOf(name) : attempt(() => textOf(name)), imports = { __proto__: null };
      if (source === undefined) continue; // the kernel asks for it, and gets the reason
      for (const specifier of importsOf(name, source)) {
        const key = `${dirname(path)} ${specifier}`;
        if (!meant.has(key)) meant.set(key, attempt(() => find("import", name, specifier)));
        const found = meant.get(key);
        if (found === undefined || found.local || found.kind === "builtin") continue;
        imports[specifier] = [found.name, found.kind];
        if (found.kind === "module") waiting.push(found.name);
      }
      modules[name] = [source, imports];
      stamps.push([path, stamp]);
      chars += source.length;
    }
    const text = JSON.stringify({ modules });
    graphs.delete(entry);
    if (graphs.size >= KEPT_GRAPHS) graphs.delete(graphs.keys().next().value);
    graphs.set(entry, { text, stamps });
    return text;
  }
  // A package's own file or folder, for packages that read such; elsewhere there is nothing.
  function ownReal(name) {
    const real = attempt(() => realpath(name.startsWith("file:") ? pathOf(name) : absolute("/", name)));
    return real !== undefined && inPackages(real) ? real : undefined;
  }
  function ownFile(name) {
    const real = ownReal(name), stat = real && statOf(real);
    if (!stat?.isFile()) return { exists: stat !== undefined };
    if (stat.size > FILE_BYTES) throw new Refusal("ERR_FS_FILE_TOO_LARGE", `File too large: ${shown(name)}`);
    const bytes = attempt(() => readFileSync(real));
    return bytes === undefined ? { exists: false } : { exists: true, base64: bytes.toString("base64") };
  }
  function ownFolder(name) {
    const real = ownReal(name), names = real && attempt(() => readdirSync(real));
    return names === undefined ? { exists: false } : { exists: true, names: names.slice(0, FOLDER_NAMES).sort() };
  }

  // -- questions ----------------------------------------------------------------------------

  const answers = {
    __proto__: null,
    // Whether a cell that imports this means a file, or a package in reach; if not, it is for the host's loaders.
    has: (_, specifier) => {
      try {
        return PATH.test(specifier) || find("import", "", specifier) !== undefined;
      } catch ({ code }) {
        return code !== ABSENT;
      }
    },
    import: (base, specifier) => find("import", base, specifier),
    require: (base, specifier) => find("require", base, specifier),
    source: (_, name) => ({ source: textOf(name) }),
    file: (_, name) => ownFile(name),
    folder: (_, name) => ownFolder(name),
  };
  function answer(kind, base, name) {
    if (base === "" && (kind === "has" || kind === "import") && isOld()) return "null";
    try {
      return kind === "graph" ? graphOf(name) : JSON.stringify(answers[kind](base, name));
    } catch (error) {
      const { code, message } = error instanceof Refusal ? error : notFound(name);
      return JSON.stringify({ code, message });
    }
  }
  async function serve() {
    const source = "import('data:text/javascript,export default import.meta.resolve')";
    const loads = new Script(source, { importModuleDynamically: USE_MAIN_CONTEXT_DEFAULT_LOADER });
    resolve = (await loads.runInThisContext()).default;
    connection.send("Z", "");
    for (;;) {
      const [command, ...given] = JSON.parse(connection.receive());
      if (command === "settle") stops.settle(given[0]);
      else connection.hold("D", answer(...given));
      connection.send("Z", JSON.stringify({ stopped: false, seen: stops.seen(), heap: 0, external: 0 }));
    }
  }
  serve().catch((error) => {
    connection.send("F", String(error.stack).slice(0, 2000));
    process.reallyExit(1);
  });
}
