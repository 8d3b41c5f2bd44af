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
      throw moduleError(error);
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
    const broken = indexOf(message, " module 'SyntaxError in ");
    if (broken >= 0) return syntaxError(slice(message, broken + 24, message.length - 1));
    return makeError(new ErrorClass(), limits.noModule, slice(message, at), table());
  }
  // Of a module in TypeScript, from `name:line:column: reason`; its frame is the one of an engine.
  function syntaxError(fault) {
    const end = indexOf(fault, ": ");
    const reason = slice(fault, end + 2), error = makeError(new ErrorClass(), "SyntaxError", reason, table());
    const stack = textOf(error, "stack", ""), frames = indexOf(stack, "    at ");
    const rest = frames < 0 ? "" : "\n" + slice(stack, frames);
    return define(error, "stack", "SyntaxError: " + reason + "\n    at " + slice(fault, 0, end) + rest);
  }
  function missingExport(specifier, wanted, module) {
    const names = ownKeys(module), known = list();
    for (let i = 0; i < names.length && i < 50; i++) if (typeof names[i] === "string") known[known.length] = names[i];
    return makeError(new ErrorClass(), "SyntaxError", "the module '" + specifier + "' has no export '" + wanted
      + "'; it exports: " + (join(known, ", ") || "nothing"), table());
  }
