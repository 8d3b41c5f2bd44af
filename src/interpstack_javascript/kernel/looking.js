  // -- what the guest has along a path -----------------------------------------------------

  // Asked once, after a cell that failed or ended with `undefined`. Neither getters nor proxies that the engine
  // recognizes are entered, and a table of a million rows costs no more than its first ones.
  const LOOKED_ELEMENTS = 2000, LOOKED_EACH = 300, LOOKED_KEYS = 50, LOOKED_NAMES = 1000, LOOKED_CHARS = 100;
  // Answers to paths, each of names, of indices, and of `null` for any element of an array:
  //   at: the steps as far as they were followed, an index in place of `null`
  //   found: "value", "undefined", "null"; "missing": what is in front of the last step lacks it; "unknown"
  //   every: of a path with `null`, whether each element that was looked at ends so early
  //   kind, count, keys, more, head: of the value; where the last step is missing, of what lacks it
  function look(paths) {
    const answers = list(), all = floor(LOOKED_ELEMENTS / paths.length) + 1;
    const share = all < LOOKED_EACH ? all : LOOKED_EACH;
    for (let i = 0; i < paths.length; i++) answers[i] = lookAlong(paths[i], { __proto__: null, left: share });
    return stringify(answers);
  }
  function lookAlong(path, budget) {
    const name = path[0], at = list();
    at[0] = name;
    const root = roots[name];
    if (root !== undefined) return lookFrom(root, path, 1, at, budget);
    const found = getOwnPropertyDescriptor(globals, name);
    if (found === undefined) return lookedNames(at);
    if (found.get !== undefined || found.set !== undefined) return looked("unknown", at);
    return lookFrom(found.value, path, 1, at, budget);
  }
  function lookFrom(value, path, from, at, budget) {
    for (let i = from; i < path.length; i++) {
      if (value === undefined || value === null) return looked(value === null ? "null" : "undefined", at);
      if (isProxy(value)) return looked("unknown", at);
      const step = path[i];
      if (step === null) return lookAtElements(value, path, i, at, budget);
      const found = stepOf(value, step);
      at[at.length] = step;
      if (found === undefined) return lookedAt("missing", at, value, step);
      if (found.get !== undefined || found.set !== undefined) return looked("unknown", at);
      value = found.value;
    }
    if (value === undefined || value === null) return looked(value === null ? "null" : "undefined", at);
    return isProxy(value) ? looked("unknown", at) : lookedAt("value", at, value, "");
  }
  function lookAtElements(value, path, i, at, budget) {
    if (!isArray(value)) return looked("unknown", at);
    const length = value.length;
    let first, every = length > 0;
    for (let k = 0; k < length && budget.left > 0; k++) {
      budget.left--;
      const found = getOwnPropertyDescriptor(value, k);
      if (found !== undefined && (found.get !== undefined || found.set !== undefined)) return looked("unknown", at);
      const steps = list();
      for (let j = 0; j < at.length; j++) steps[j] = at[j];
      steps[steps.length] = k;
      const answer = lookFrom(found === undefined ? undefined : found.value, path, i + 1, steps, budget);
      if (answer.found === "value" || answer.found === "unknown") every = false;
      else if (first === undefined) first = answer;
    }
    if (first === undefined) return looked("unknown", at);
    if (!every) first.every = false;
    return first;
  }
  // The descriptor of a property, also of an inherited one.
  function stepOf(value, step) {
    for (let at = ObjectClass(value), level = 0; at !== null && level < 20; at = getPrototypeOf(at), level++) {
      if (isProxy(at)) return { __proto__: null, get: undefined, set: stepOf };
      const found = getOwnPropertyDescriptor(at, step);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  function looked(found, at) {
    return { __proto__: null, found, at, every: true, kind: "", count: -1, keys: list(), more: 0, head: "" };
  }
  function lookedNames(at) {
    const answer = looked("missing", at), own = ownNames(), builtins = keys(builtin);
    lookedKeys(answer, own, LOOKED_NAMES, "");
    answer.count = answer.keys.length;
    lookedKeys(answer, builtins, LOOKED_NAMES, "");
    return answer;
  }
  function lookedAt(found, at, value, step) {
    const answer = looked(found, at);
    answer.kind = lookedKind(value);
    answer.head = typeof value === "string" ? slice(value, 0, 1) : "";
    answer.count = typeof value === "string" || isArray(value) ? value.length
      : answer.kind === "Map" ? mapSize(value) : answer.kind === "Set" ? setSize(value) : -1;
    if (answer.kind !== "object") return answer;
    lookedKeys(answer, ownKeys(value), LOOKED_KEYS, step);
    const prototype = getPrototypeOf(value);
    if (prototype !== null && prototype !== objectPrototype && !isProxy(prototype)) // of a class: its methods
      lookedKeys(answer, ownKeys(prototype), LOOKED_KEYS, step);
    return answer;
  }
  // The first keys, the second half of which begin as the missing one does where there are many.
  function lookedKeys(answer, names, most, step) {
    const many = names.length > most, initial = charCode(step, 0) | 32;
    let taken = 0;
    for (let i = 0; i < names.length; i++) {
      const name = names[i];
      if (typeof name !== "string" || name === "constructor" || name.length > LOOKED_CHARS) continue;
      const takes = !many || taken < most >> 1 || (taken < most && (charCode(name, 0) | 32) === initial);
      if (takes) {
        answer.keys[answer.keys.length] = name;
        taken++;
      } else answer.more++;
    }
  }
  function lookedKind(value) {
    if (typeof value !== "object") return typeof value;
    if (isArray(value)) return "array";
    if (hasBrand(mapSize, value)) return "Map";
    if (hasBrand(setSize, value)) return "Set";
    return isPromise(value) ? "Promise" : "object";
  }
