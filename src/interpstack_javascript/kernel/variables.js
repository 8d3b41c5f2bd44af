  function ownNames() {
    const names = ownKeys(globals), own = list();
    for (let i = 0; i < names.length; i++)
      if (typeof names[i] === "string" && isOwn(names[i]) && !isUninitialized(names[i])) own[own.length] = names[i];
    return own;
  }
  // Whether a global is the guest's: also one with the name of a built-in (`const URL = "https://…"`),
  // once it has another value.
  function isOwn(name) {
    const first = builtin[name];
    if (first === undefined) return true;
    if (first === null) return false; // of a bridge
    const found = getOwnPropertyDescriptor(globals, name);
    if (found === undefined || found.configurable === false && found.writable !== true) return false;
    if (found.get !== undefined || found.set !== undefined) return found.get !== first.get;
    return first.get === undefined || first.loaded === true ? found.value !== first.value : true;
  }
  // A built-in that is loaded when it is first used: this is its value.
  function loaded(name, value) {
    const first = builtin[name];
    if (typeof first !== "object" || first === null) return;
    first.value = value;
    first.loaded = true;
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
  function typeNote(value) {
    if (isProxy(value)) return "(type: Proxy)"; // its traps would run
    const kind = typeof value === "object" ? className(value, attempt(getPrototypeOf, value) || null, "object") : typeof value;
    return "(type: " + kind + ")";
  }
  // Characters of JSON that a small variable may have, all small ones together, and all larger ones:
  // the export is bounded by size, so what is carried does not depend on the speed of the machine.
  // Small ones go first, whatever their place, so that a large one never takes them along.
  const SMALL_CHARS = 65536, SMALL_TOGETHER = 8388608, LARGE_TOGETHER = 2097152;
  // A host that keeps an image, too, asks for {large: {name: items}}, the variables that were too large
  // before: one that has as many items still is not read. Else most evals would take longer to find that
  // out again than for all they do.
  // A host whose time limit an export exceeded asks for each variable on its own, to find those that take
  // long, and then for all without these: {only: name} or {without: [name, …]}. Shared objects are found
  // only where all are exported together.
  function exportValues(asked) {
    const { only, without, large: known } = asked === undefined ? table() : setPrototypeOf(asked, null);
    if (known !== undefined) setPrototypeOf(known, null);
    const own = only === undefined ? ownNames() : list(), texts = list(), parts = list(), shared = newShared();
    if (only !== undefined) own[0] = only;
    const skipped = table();
    if (without !== undefined) for (let i = 0; i < without.length; i++) skipped[without[i]] = true;
    let small = SMALL_TOGETHER, large = LARGE_TOGETHER;
    for (let i = 0; i < own.length; i++) {
      if (skipped[own[i]] === true) continue;
      if (known !== undefined && lengthOf(own[i]) >= known[own[i]]) {
        texts[i] = lostText(TOO_LARGE, known[own[i]]);
        continue;
      }
      const text = texts[i] = exportValue(own[i], SMALL_CHARS, true, shared);
      if (typeof text !== "string") continue;
      if (text.length <= small) small -= text.length;
      else {
        texts[i] = null;
        shared.jobs[shared.jobs.length - 1].kept = false;
      }
    }
    for (let i = 0; i < own.length; i++) {
      if (texts[i] === null) {
        texts[i] = exportValue(own[i], large, false, shared, known !== undefined);
        if (texts[i] !== undefined) large -= texts[i].length;
      }
      if (texts[i] !== undefined) parts[parts.length] = stringify(own[i]) + ":" + texts[i];
    }
    const added = only === undefined ? additions() : list();
    for (let i = 0; i < added.length; i++) if (getOwnPropertyDescriptor(globals, added[i]) === undefined)
      parts[parts.length] = stringify(added[i]) + ':{"$":"lost","v":"it is not a variable, and only variables are stored"}';
    return "{" + join(parts, ",") + "}";
  }
  // What code adds to a built-in (`Array.prototype.last = …`), deletes, or keeps under a symbol on the
  // global object, is not carried. It is named beside the variables that are not. So is what it replaces
  // (`Array.prototype.map = …`), on engines whose states are values alone: to compare all built-ins takes
  // longer than the rest of an export, and others keep an image.
  const watched = list(), ADDITIONS = 50;
  let comparesBuiltins = false;
  function watch(name, object) {
    if (typeof object !== "function" && (typeof object !== "object" || object === null)) return;
    for (let i = 0; i < watched.length; i++) if (watched[i].object === object) return;
    const entry = { __proto__: null, name, object, keys: ownKeys(object), first: list() };
    watched[watched.length] = entry;
    if (comparesBuiltins) for (let i = 0; i < entry.keys.length; i++) entry.first[i] = partOf(object, entry.keys[i]);
  }
  // The value of a property, or its getter; no code runs.
  function partOf(object, key) {
    const found = getOwnPropertyDescriptor(object, key);
    return found === undefined ? undefined : found.get === undefined ? found.value : found.get;
  }
  function watchBuiltins() {
    for (const name in builtin) {
      const value = builtin[name] === null ? undefined : builtin[name].value; // none of one that is loaded later
      if (value === globals) continue;
      watch(name, value);
      if (typeof value === "function") watch(name + ".prototype", getOwnPropertyDescriptor(value, "prototype")?.value);
    }
    watched[watched.length] = { __proto__: null, name: "globalThis", object: globals, keys: symbolsOf(globals), first: list() };
  }
  function symbolsOf(object) {
    const all = ownKeys(object), symbols = list();
    for (let i = 0; i < all.length; i++) if (typeof all[i] === "symbol") symbols[symbols.length] = all[i];
    return symbols;
  }
  function additions() {
    const found = list();
    for (const name in builtin) if (getOwnPropertyDescriptor(globals, name) === undefined && builtin[name] !== null && found.length < ADDITIONS)
      found[found.length] = "globalThis." + name;
    for (let i = 0; i < watched.length && found.length < ADDITIONS; i++) changesOf(watched[i], found);
    return found;
  }
  function changesOf({ name, object, keys: before, first }, found) {
    const now = object === globals ? symbolsOf(globals) : ownKeys(object);
    for (let k = 0; k < first.length; k++) {
      const part = partOf(object, before[k]);
      if (part !== first[k] && (part === part || first[k] === first[k])) noteChange(name, before[k], found);
    }
    if (isSame(now, before)) return;
    const known = table(), left = table();
    for (let k = 0; k < now.length; k++) left[now[k]] = true;
    for (let k = 0; k < before.length; k++) {
      known[before[k]] = true;
      if (first.length === 0 && left[before[k]] !== true) noteChange(name, before[k], found); // else it was compared
    }
    for (let k = 0; k < now.length; k++) if (known[now[k]] !== true) noteChange(name, now[k], found);
  }
  function isSame(one, other) {
    if (one.length !== other.length) return false;
    for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return false;
    return true;
  }
  function noteChange(name, property, found) {
    if (found.length >= ADDITIONS) return;
    const key = typeof property === "symbol" ? "[" + symbolToString(property) + "]" : "." + property;
    found[found.length] = name + slice(key, 0, 100);
  }
  const TOO_LARGE = "it is too large to be stored: variables over 64 KiB as JSON have 2 MiB together, all others 8 MiB";
  function lostText(why, items) {
    return '{"$":"lost","v":' + stringify(why) + (items === -1 ? "}" : ',"items":' + items + "}");
  }
  // Items of a list, or characters of a text; -1 for all else. No code runs.
  function lengthOf(name) {
    const value = getOwnPropertyDescriptor(globals, name)?.value;
    return typeof value === "string" || typeof value === "object" && !isProxy(value) && isArray(value) ? +value.length : -1;
  }
  // The text of a variable; `null` if it has more than `most` characters and `again` says that it
  // gets another try. `counts` adds the number of items of one that is too large.
  function exportValue(name, most, again, shared, counts) {
    const exported = variableIn(shared, name);
    const found = getOwnPropertyDescriptor(globals, name);
    if (found === undefined) return undefined; // removed by code that another variable's value runs
    let why = "it is not serializable (type: accessor)"; // it has no value unless its code runs
    if (found.get !== undefined && found.get === lost[name]?.get) why = lost[name].why;
    if (found.get === undefined && found.set === undefined && !(found.writable && found.configurable)) {
      why = "it is read-only or cannot be deleted, and would come back as another variable";
    } else if (found.get === undefined && found.set === undefined) {
      // Getters in lists run, since a look at each item would take too long; so do proxies.
      const job = newJob(shared);
      if (most < job.left) job.left = most;
      let tooLong = false;
      try {
        const text = textOfJob(found.value, job);
        if (text.length <= most) return text;
        tooLong = true; // the job counts what values take at least, not their punctuation
      } catch {
        tooLong = job.left < 0;
        // What a host takes for data begins with another reason than the type.
        if (!tooLong && !job.met) why = (job.why === "" ? "it is not serializable" : job.why) + " " + typeNote(found.value)
          + (job.path === "" ? "" : ", at " + name + job.path);
      }
      exported.kept = false;
      if (tooLong) {
        if (again) return null;
        return lostText(TOO_LARGE, counts ? lengthOf(name) : -1);
      }
    }
    return lostText(why, -1);
  }
  function importValues(values) {
    const names = keys(setPrototypeOf(values, null));
    loading = { __proto__: null, values, loaded: table(), nested: 0 };
    try {
      for (let i = 0; i < names.length; i++) {
        const name = names[i], { why, value } = loadedValue(name);
        if (why === "") define(globals, name, value, true);
        else if (indexOf(name, ".") < 0 && indexOf(name, "[") < 0) missing(name, why); // else an addition
      }
    } finally {
      loading = noted = undefined;
    }
  }
  // Variables that share objects come in any order, and may be lost meanwhile: one that needs another is
  // loaded after it. Only a forged state needs many at once.
  const MOST_NESTED = 8;
  let loading;
  function loadedValue(name) {
    let entry = loading.loaded[name];
    if (entry !== undefined) return entry;
    entry = loading.loaded[name] = { __proto__: null, why: "", value: undefined, objects: list() };
    const wire = loading.values[name], outer = noted;
    if (typeof wire === "object" && wire !== null && wire.$ === "lost") {
      entry.why = wire.v;
      return entry;
    }
    noted = entry.objects;
    loading.nested++;
    try {
      entry.value = revive(wire);
    } catch (error) {
      if (error !== unshared) throw error;
      entry.why = unshared.why;
      entry.objects = list();
    }
    loading.nested--;
    noted = outer;
    return entry;
  }
  const unshared = { __proto__: null, why: "" }; // thrown where an object that is shared is not there
  function sharedObject(place) {
    const other = isArray(place) ? place[0] : undefined;
    let objects = noted;
    if (other !== undefined) {
      const isThere = getOwnPropertyDescriptor(loading.values, other) !== undefined;
      objects = isThere && (loading.loaded[other] !== undefined || loading.nested < MOST_NESTED) ? loadedValue(other).objects : list();
    }
    const found = objects[other === undefined ? place : place[1]];
    if (found !== undefined) return found;
    unshared.why = other === undefined ? "an object in it is missing" : "it shares an object with '" + other + "', which was not restored";
    throw unshared;
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

