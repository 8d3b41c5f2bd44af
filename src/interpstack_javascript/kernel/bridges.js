  // -- what the guest sees of bridges ------------------------------------------------------

  // A stub is a bound function and nothing else: each stored state contains all stubs. Names of bridges
  // are identifiers with dots, which JSON does not escape.
  // The defaults keep the length of a stub at 1, by which some libraries curry.
  const ask = (name, counts, input, second = undefined, third = undefined, fourth = undefined) => {
    const wrong = surplusFault(name, input, second, third, fourth);
    return wrong === null ? request(name, input, '"' + name + '"', counts)
      : new PromiseClass((resolve, reject) => { reject(wrong); });
  };
  // All arguments as a list; a callback of a list's methods gets an index and the list besides.
  const askListed = (name, counts, ...given) => {
    const isCallback = given.length === 3 && typeof given[1] === "number" && isArray(given[2]);
    if (isCallback) given.length = 1;
    return request(name, given, '"' + name + '"', counts);
  };
  const notify = (name, input, second = undefined, third = undefined, fourth = undefined) => {
    const wrong = surplusFault(name, input, second, third, fourth);
    if (wrong !== null) throw wrong;
    call(name, input);
  };
  // An argument after the first would have no effect. Methods of lists, maps and sets pass an index, a key or the
  // value again to their callbacks, and all but `Array.from` the collection, too: such a call is meant.
  function surplusFault(name, input, second, third, fourth) {
    if (second === undefined && third === undefined && fourth === undefined) return null;
    const isObject = (value) => typeof value === "object" && value !== null;
    const isIndex = second === input || (second !== undefined && !isObject(second));
    const isCallback = third === undefined ? typeof second === "number" : isObject(third) && isIndex;
    if (fourth === undefined && isCallback) return null;
    return new TypeErrorClass(name + " takes one argument, with all fields in it; another one would have no effect");
  }
  function stub(name, last, awaited, counts, listed) {
    const made = awaited ? bindTo(listed ? askListed : ask, undefined, name, counts)
      : bindTo(notify, undefined, name);
    defineProperty(made, "name", { __proto__: null, value: last });
    return freeze(made);
  }
  // The same function, whose text is that of a native one: its source is no code of the guest's.
  function asNative(made) {
    const bound = bindTo(made);
    defineProperty(bound, "name", { __proto__: null, value: made.name });
    return bound;
  }
  function bind(offered) {
    const fresh = table(), yields = table();
    for (let i = 0; i < offered.length; i++) {
      const name = offered[i][0], end = indexOf(name, "."), root = end < 0 ? name : slice(name, 0, end);
      yields[root] = yields[root] !== false && offered[i][5] === true;
      let at = fresh, from = 0, dot;
      while ((dot = indexOf(name, ".", from)) >= 0) {
        const part = slice(name, from, dot);
        at = at[part] === undefined ? (at[part] = table()) : at[part];
        from = dot + 1;
      }
      const last = slice(name, from);
      define(at, last, stub(name, last, offered[i][1], offered[i][3] !== false, offered[i][4] === true),
        offered[i][2] !== false);
    }
    const old = keys(roots), names = keys(fresh);
    for (let i = 0; i < old.length; i++) {
      roots[old[i]] = undefined;
      if (guarded[old[i]] === undefined && fresh[old[i]] === undefined && !isOwn(old[i])) deleteProperty(globals, old[i]);
    }
    for (let i = 0; i < names.length; i++) {
      const name = names[i];
      roots[name] = freezeTree(fresh[name]);
      if (guarded[name] === true) continue;
      if (yields[name]) offerAsBuiltin(name);
      else reserve(name);
    }
  }
  // A namespace that a variable of the guest may hide.
  function offerAsBuiltin(root) {
    const isThere = getOwnPropertyDescriptor(globals, root) !== undefined, hides = isThere && isOwn(root);
    builtin[root] = { __proto__: null, value: roots[root], writable: true, configurable: true };
    if (!hides) attempt(() => define(globals, root, roots[root]));
  }
  function freezeTree(node) {
    if (typeof node === "function") return node;
    const names = keys(node);
    for (let i = 0; i < names.length; i++) freezeTree(node[names[i]]);
    return freeze(node);
  }
  function reserve(root) {
    const done = defineProperty(globals, root, {
      __proto__: null, enumerable: false, configurable: false,
      get: () => roots[root],
      set: () => { throw new TypeErrorClass(root + " is reserved by the interpreter; use another name"); },
    });
    builtin[root] = null;
    guarded[root] = done;
    // The guest had a variable of this name before the host offered it; the host's wins.
    if (!done) attempt(() => defineProperty(globals, root, { __proto__: null, value: roots[root] }));
  }

