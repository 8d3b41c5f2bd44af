  function ownNames() {
    const names = ownKeys(globals), own = list();
    for (let i = 0; i < names.length; i++)
      if (typeof names[i] === "string" && !(names[i] in builtin) && !isUninitialized(names[i])) own[own.length] = names[i];
    return own;
  }
  // What may follow a path of names: found without running a getter. Only a proxy can notice.
  function memberNames(path) {
    let at = globals;
    for (let i = 0; i < path.length; i++) {
      const found = propertyOf(at, path[i]);
      if (found === undefined || found.get !== undefined || found.set !== undefined) return list();
      at = found.value;
    }
    if (at === undefined || at === null) return list();
    const seen = table(), names = list();
    let owner = ObjectClass(at);
    const indexed = typeof at === "string" || isArray(owner) || isView(owner);
    for (let level = 0; owner !== null && level < 20; level++) {
      const own = indexed && level === 0 ? ["length"] : ownKeys(owner);
      for (let i = 0; i < own.length && names.length < 1000; i++) {
        const name = own[i];
        if (typeof name !== "string" || name.length > 100 || seen[name] === true) continue;
        seen[name] = true;
        names[names.length] = name;
      }
      owner = getPrototypeOf(owner);
    }
    return names;
  }
  function propertyOf(value, key) {
    if (value === undefined || value === null) return undefined;
    for (let at = ObjectClass(value), level = 0; at !== null && level < 20; at = getPrototypeOf(at), level++) {
      const found = getOwnPropertyDescriptor(at, key);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  function lostReason(value) {
    const kind = typeof value === "object" ? className(value, attempt(getPrototypeOf, value) || null, "object") : typeof value;
    return "it is not serializable (type: " + kind + ")";
  }
  function exportValues() {
    const own = ownNames(), parts = list();
    for (let i = 0; i < own.length; i++) {
      const text = exportValue(own[i]);
      if (text !== undefined) parts[parts.length] = stringify(own[i]) + ":" + text;
    }
    return "{" + join(parts, ",") + "}";
  }
  function exportValue(name) {
    const found = getOwnPropertyDescriptor(globals, name);
    if (found === undefined) return undefined; // removed by code that another variable's value runs
    let why = "it is not serializable (type: accessor)"; // it has no value unless its code runs
    if (found.get !== undefined && found.get === lost[name]?.get) why = lost[name].why;
    if (found.get === undefined && found.set === undefined) {
      // Getters in lists run, since a look at each item would take too long; so do proxies.
      const job = newJob(true);
      try {
        return textOfJob(found.value, job);
      } catch {
        if (!job.met) why = lostReason(found.value) + (job.why === "" ? "" : ": " + job.why);
      }
    }
    return '{"$":"lost","v":' + stringify(why) + "}";
  }
  function importValues(values) {
    const names = keys(values);
    for (let i = 0; i < names.length; i++) {
      const name = names[i], value = values[name];
      if (typeof value === "object" && value !== null && value.$ === "lost") missing(name, value.v);
      else define(globals, name, revive(value), true);
    }
  }
  const lost = table(); // variables that were not restored -> {why, get}
  function missing(name, why) {
    const get = () => { throw new ErrorClass("Value for '" + name + "' was not restored because " + why + "."); };
    lost[name] = { __proto__: null, why, get };
    defineProperty(globals, name, {
      __proto__: null, enumerable: true, configurable: true, get,
      set(value) { define(globals, name, value, true); },
    });
  }

