  // What an import in a cell becomes: the host fetches the module, then the engine has it.
  async function importModule(specifier, names, attributes) {
    // No call, so the limit of calls does not hold; each costs the host something nevertheless.
    if (++imported > 1000) throw new RangeErrorClass("import: a cell may make at most 1000 imports");
    const asked = isArray(names) || typeof names !== "object" || names === null ? attributes : names.with; // of import()
    if (engineModules === undefined && typeof asked === "object" && asked !== null && keys(asked).length > 0)
      throw makeError(new ErrorClass(), "SyntaxError", "import attributes, such as `type`, are not available: every module is code", table());
    const wanted = "" + specifier, own = engineModules === undefined ? undefined : engineModules.entryOf(wanted);
    const entry = own === undefined ? await request("module", wanted, '"module"', false) : own;
    const mine = cell;
    let module;
    importing++;
    try {
      module = await import(entry);
    } catch (error) {
      if (unhandled?.leave !== undefined) unhandled.leave(error);
      throw await faultOf(error) ?? moduleError(error);
    } finally { // not reached when the code is stopped
      if (mine === cell) importing--;
    }
    if (isArray(names)) for (let i = 0; i < names.length; i++) if (!(names[i] in module)) throw missingExport(specifier, names[i], module);
    return module;
  }
  // `import.meta` in a cell is this function's property.
  function cellMeta() {
    if (engineModules === undefined) throw makeError(new ErrorClass(), "SyntaxError", "import.meta is not available in cells of this engine", table());
    return engineModules.meta();
  }
  // A file that a module imports is not there: engines word it as below.
  function moduleError(error) {
    if (!isError(error)) return error;
    if (engineModules !== undefined && engineModules.isRefusal(error)) {
      const refusal = makeError(new ErrorClass(), limits.noModule, describe(error).message, table());
      return define(refusal, "code", textOf(error, "code", ""), true);
    }
    const { name, message } = describe(error);
    let at = indexOf(message, "Error resolving module ");
    if (at < 0) at = indexOf(message, "Error loading module ");
    const absent = at === 0 && name === "ReferenceError" || at > 0 && name === "TypeError"; // QuickJS, V8
    if (!absent) return error;
    return makeError(new ErrorClass(), limits.noModule, slice(message, at), table());
  }
  // The error for a module in TypeScript that does not parse: the engine names a module in its place, and the
  // host has the `ModuleFault` as another module; see `modules.py`.
  async function faultOf(error) {
    const { message } = isError(error) ? describe(error) : { message: "" };
    const mark = "interpstack:broken/", at = indexOf(message, mark), from = at + mark.length;
    if (at < 0) return undefined;
    try {
      return syntaxError((await import("interpstack:fault/" + slice(message, from, from + 16))).default);
    } catch {
      return undefined; // code made the name up
    }
  }
  // Of a module in TypeScript; its frame is the one of an engine.
  function syntaxError(fault) {
    const place = fault[0] + ":" + fault[1] + ":" + fault[2], reason = "" + fault[3];
    const error = makeError(new ErrorClass(), "SyntaxError", reason, table());
    const stack = textOf(error, "stack", ""), frames = indexOf(stack, "    at ");
    const rest = frames < 0 ? "" : "\n" + slice(stack, frames);
    return define(error, "stack", "SyntaxError: " + reason + "\n    at " + place + rest);
  }
  function missingExport(specifier, wanted, module) {
    const names = ownKeys(module), known = list();
    for (let i = 0; i < names.length && i < 50; i++) if (typeof names[i] === "string") known[known.length] = names[i];
    return makeError(new ErrorClass(), "SyntaxError", "the module '" + specifier + "' has no export '" + wanted
      + "'; it exports: " + (join(known, ", ") || "nothing"), table());
  }
