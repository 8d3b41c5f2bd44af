  // -- variables that a cell declares --------------------------------------------------------

  // What a cell declares at its top level is a property of the global object, which a later cell can
  // declare again. Preparation writes `let`, `const` and `class` as assignments; until the first one
  // the property throws, as the language wants.
  const uninitialized = table(); // names -> the getters that throw
  const isUninitialized = (name) => {
    const get = uninitialized[name];
    return get !== undefined && getOwnPropertyDescriptor(globals, name)?.get === get;
  };
  let fresh = list(); // names that no cell before the running one has declared
  // A cell that ends early leaves no trace of a name whose line it did not reach.
  function dropUnreached() {
    for (let i = 0; i < fresh.length; i++) {
      if (!isUninitialized(fresh[i])) continue;
      deleteProperty(globals, fresh[i]);
      delete uninitialized[fresh[i]];
    }
    fresh = list();
  }
  function declareAll(declared) {
    fresh = list();
    setPrototypeOf(declared, null);
    declareEach(declared.function, checkDeclared);
    declareEach(declared.var, declareVar);
    declareEach(declared.let, declare);
    declareEach(declared.const, declare);
  }
  function declareEach(names, declareOne) {
    if (names !== undefined) for (let i = 0; i < names.length; i++) declareOne(names[i]);
  }
  // An engine ignores the value of a declared global that takes none.
  function checkDeclared(name) {
    const found = getOwnPropertyDescriptor(globals, name);
    if (found === undefined || found.configurable || found.writable === true || found.set !== undefined) return found;
    throw new TypeErrorClass(name + (builtin[name] !== undefined ? " is reserved by the interpreter; use another name"
      : " is a global that was made read-only; use another name"));
  }
  function declareVar(name) {
    const found = checkDeclared(name);
    if (found === undefined || isUninitialized(name)) define(globals, name, undefined, true);
    else if (found.writable !== true && found.set === undefined) define(globals, name, found.value, found.enumerable);
  }
  function declare(name) {
    const found = checkDeclared(name);
    if (found !== undefined && !found.configurable) {
      globals[name] = undefined;
      return;
    }
    if (found === undefined) fresh[fresh.length] = name;
    const mine = cell;
    const get = () => {
      throw new ReferenceErrorClass(mine === cell && active ? "Cannot access '" + name + "' before initialization"
        : "'" + name + "' has no value: the cell that declares it ended before. Declare it again");
    };
    uninitialized[name] = get;
    defineProperty(globals, name, {
      __proto__: null, enumerable: true, configurable: true, get,
      set(value) {
        delete uninitialized[name];
        define(globals, name, value, true);
      },
    });
  }
  // Preparation leads assignments to these that the language refuses.
  const refusing = (refuse) => new ProxyClass(table(), {
    __proto__: null,
    get: (_, name) => globals[name],
    set(_, name) { throw refuse(name); },
  });
  const constants = refusing((name) => new TypeErrorClass("Assignment to constant variable '" + name + "'"));
  const early = refusing((name) => new ReferenceErrorClass("Cannot access '" + name + "' before initialization"));
