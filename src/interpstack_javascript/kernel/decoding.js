  // -- values: wire to guest ---------------------------------------------------------------

  function revive(node) {
    if (typeof node !== "object" || node === null) return node;
    if (isArray(node)) {
      note(node);
      for (let i = 0; i < node.length; i++) {
        if (node[i]?.hole === true && node[i].$ === "undefined") delete node[i];
        else define(node, i, revive(node[i]), true);
      }
      return node;
    }
    const names = keys(node);
    for (let i = 0; i < names.length; i++)
      if (names[i] === "$") return names.length < 3 ? untag(node) : completed(untag(node), node);
    note(node);
    for (let i = 0; i < names.length; i++) define(node, names[i], revive(node[names[i]]), true);
    return node;
  }
  // With what a saved variable had beside its parts.
  function completed(value, { own, closed, bare }) {
    if (typeof value !== "object" || value === null) return value;
    for (let i = 0; own !== undefined && i < own.length; i++) {
      const key = own[i][0];
      define(value, key, revive(own[i][1]), own[i][2] === true || !(isError(value) && (key === "cause" || key === "errors")));
    }
    if (bare === true) setPrototypeOf(value, null);
    if (closed === "frozen") freeze(value);
    else if (closed === "sealed") sealObject(value);
    else if (closed === "closed") preventExtensions(value);
    return value;
  }
  // The objects of the variable that is loaded, by their numbers; see `metBefore`.
  let noted;
  function note(value) {
    if (noted !== undefined) noted[noted.length] = value;
    return value;
  }
  function untag(node) {
    const { $: kind, v: body } = node;
    switch (kind) {
      case "list": return revive(body);
      case "same":
        if (noted !== undefined) return sharedObject(body);
        break;
      case "undefined": return undefined;
      case "number": return body === "-0" ? -0 : body === "NaN" ? NaN : body === "Infinity" ? Infinity : -Infinity;
      case "bigint": return body[0] === "-" ? -BigIntClass("0x" + slice(body, 1)) : BigIntClass("0x" + body);
      case "date": return note(new DateClass(body === null ? NaN : body));
      case "bytes": return note(fromBase64(body));
      case "map": {
        const map = note(new MapClass());
        for (let i = 0; i < body.length; i++) mapSet(map, revive(body[i][0]), revive(body[i][1]));
        return map;
      }
      case "set": {
        const set = note(new SetClass());
        for (let i = 0; i < body.length; i++) setAdd(set, revive(body[i]));
        return set;
      }
      case "standin": {
        const at = noted === undefined ? 0 : noted.length;
        note(undefined); // its number comes before those of its parts
        const made = new Handle(revive(body));
        if (noted !== undefined) noted[at] = made;
        return made;
      }
      case "object": {
        const object = note({});
        for (let i = 0; i < body.length; i++) define(object, body[i][0], revive(body[i][1]), true);
        return object;
      }
      case "error": { // where V8 made it is no business of the guest's
        const kept = typeof node.class === "string" ? errorClasses[node.class] : undefined;
        if (kept !== undefined) return restoredError(kept, node.class, body);
        const error = makeError(note(new ErrorClass()), body.name, body.message, table());
        return define(error, "stack", typeof body.stack === "string" ? body.stack : "");
      }
    }
    throw new TypeErrorClass("unknown kind of value from the host");
  }
  const NO_ERRORS = { __proto__: null, [symbolIterator]: () => ({ __proto__: null, next: () => ({ __proto__: null, done: true }) }) };
  // An error of a variable, with no more properties than it had.
  function restoredError(kept, kind, { name, message, stack }) {
    const error = note(new kept(kind === "AggregateError" ? NO_ERRORS : undefined));
    const own = attempt((made) => made.stack, error), writesTitle = typeof own === "string" && slice(own, 0, kind.length) === kind;
    deleteProperty(error, "errors"); // is among its further properties
    if (message !== "") define(error, "message", message);
    if (name !== kind) define(error, "name", name);
    const title = writesTitle ? name + (message === "" ? "" : ": " + message) : "";
    return define(error, "stack", title + (title === "" || stack === "" ? "" : "\n") + stack);
  }
  const base64Codes = new Bytes(128);
  for (let i = 0; i < 64; i++) base64Codes[charCode(base64, i)] = i;
  function fromBase64(text) {
    if (nativeFromBase64 !== undefined) return nativeFromBase64(Bytes, text);
    const padding = text[text.length - 1] !== "=" ? 0 : text[text.length - 2] !== "=" ? 1 : 2;
    const bytes = new Bytes((text.length / 4) * 3 - padding);
    for (let i = 0, at = 0; i < text.length; i += 4) {
      const bits = (base64Codes[charCode(text, i)] << 18) | (base64Codes[charCode(text, i + 1)] << 12)
        | (base64Codes[charCode(text, i + 2)] << 6) | base64Codes[charCode(text, i + 3)];
      bytes[at++] = bits >> 16; // writes past the end of a typed array do nothing
      bytes[at++] = (bits >> 8) & 255;
      bytes[at++] = bits & 255;
    }
    return bytes;
  }
  function makeError(error, name, message, data) {
    const names = keys(data);
    for (let i = 0; i < names.length; i++) define(error, names[i], data[names[i]], true);
    define(error, "message", message);
    define(error, "name", name);
    const found = getOwnPropertyDescriptor(error, "stack");
    if (typeof found?.value === "string") { // of an engine that wrote it when the error had another title
      const frames = indexOf(found.value, "\n    at ");
      define(error, "stack", name + ": " + message + (frames < 0 ? "" : slice(found.value, frames)));
    }
    return error;
  }

