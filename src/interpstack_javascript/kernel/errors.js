  // -- errors ------------------------------------------------------------------------------

  function textOf(value, key, fallback) {
    try {
      const found = value[key];
      if (found === undefined || found === null) return fallback;
      return slice(typeof found === "string" ? found : inspect(found, { chars: 2000 }), 0, limits.renderChars);
    } catch {
      return fallback;
    }
  }
  function describe(error) {
    let stack = textOf(error, "stack", "");
    const name = textOf(error, "name", "Error"), message = textOf(error, "message", ""), title = name + ": " + message;
    if (slice(stack, 0, title.length) === title) stack = slice(stack, title.length + 1); // as V8 writes it
    else if (stack === name) stack = "";
    else if (slice(stack, 0, 7) !== "    at ") { // it had another title when it was made
      const frames = indexOf(stack, "\n    at ");
      if (frames >= 0) stack = slice(stack, frames + 1);
      else if (isTitle(stack, message)) stack = "";
    }
    stack = guestFrames(stack);
    return { __proto__: null, name, message, stack };
  }
  // Whether a stack without frames is a title alone: the name of a class, with or without the message.
  function isTitle(stack, message) {
    const end = ": " + message, at = stack.length - end.length;
    const name = trimEnd(at > 0 && slice(stack, at) === end ? slice(stack, 0, at) : stack);
    return slice(name, -5) === "Error" && indexOf(name, " ") < 0 && indexOf(name, "\n") < 0;
  }
  // Why an error came about, in a line for each cause: `fetch` of Node, for example, says it nowhere else.
  function causesOf(error) {
    let text = "", at = error;
    for (let level = 0; level < 3; level++) {
      try {
        at = at.cause;
        if (at === undefined || at === null || at === error) return text;
        const code = isError(at) ? textOf(at, "code", "") : "", shown = thrownLine(at);
        text += "\n    [cause]: " + shown + (code === "" || indexOf(shown, code) >= 0 ? "" : " (" + slice(code, 0, 80) + ")");
      } catch {
        return text; // a getter or a proxy that throws
      }
    }
    return text;
  }
  // What an error has in a field of the language, which is not enumerable; `undefined` for nothing.
  function hiddenField(error, key) {
    const found = getOwnPropertyDescriptor(error, key);
    return found === undefined || found.enumerable ? undefined : found.value;
  }
  // The first errors of an `AggregateError`, and both of a `SuppressedError`, in a line each: their own messages
  // seldom say why.
  function gatheredIn(error) {
    let text = "";
    try {
      for (let i = 0; i < SUPPRESSED_FIELDS.length; i++) {
        const value = hiddenField(error, SUPPRESSED_FIELDS[i]);
        if (value !== undefined) text += "\n    [" + SUPPRESSED_FIELDS[i] + "]: " + thrownLine(value);
      }
      const errors = hiddenField(error, "errors");
      if (!isArray(errors)) return text;
      const count = errors.length;
      for (let i = 0; i < count && i < 3; i++) text += "\n    [errors]: " + thrownLine(errors[i]);
      return count > 3 ? text + "\n    [errors]: " + (count - 3) + " more" : text;
    } catch {
      return text; // a getter or a proxy that throws
    }
  }
  const SUPPRESSED_FIELDS = ["error", "suppressed"]; // of a `SuppressedError`
  let callErrors = new WeakSetClass(); // with which calls of the running cell failed
  // The own fields of an error, such as `{status: 402}`, but for those that are shown beside it. A getter is not
  // called: it might take for ever, and the error would be a time limit. `named`: if the running cell fails with
  // it, the host names the call in its own words.
  function fieldsOf(error, chars, named = false) {
    const view = newView(chars, 4), parts = list();
    view.path[0] = error;
    try {
      const names = ownKeys(error), ofCall = named && weakSetHas(callErrors, error);
      for (let i = 0; i < names.length; i++) {
        const key = names[i], found = getOwnPropertyDescriptor(error, key);
        if (found === undefined || !found.enumerable || key === "name" || key === "message" || key === "stack" || key === "cause") continue;
        if (ofCall && (key === "tool" || key === "kind")) continue;
        if (!more(view, i, names.length)) break;
        parts[parts.length] = "value" in found ? member(error, key, view, 1) : spend(view, fieldText(key, view) + ": [Getter]");
      }
    } catch {
      return ""; // a proxy that throws
    }
    if (view.cut) parts[parts.length] = "…";
    return parts.length === 0 ? "" : "{" + join(parts, ", ") + "}";
  }
  // A stack without frames of the kernel and of builtins, and with the cell's own name.
  function guestFrames(stack) {
    let text = "", from = 0;
    while (from < stack.length) {
      const found = indexOf(stack, "\n", from), end = found < 0 ? stack.length : found;
      const line = guestFrame(slice(stack, from, end));
      from = end + 1;
      if (line !== undefined) text += (text === "" ? "" : "\n") + line;
    }
    return text;
  }
  // One line of a stack; undefined for a frame that no reader of the guest's code knows.
  function guestFrame(frame) {
    if (indexOf(frame, "interpstack:") >= 0 || indexOf(frame, "(native)") >= 0
      || indexOf(frame, "(<anonymous>)") >= 0 || indexOf(frame, "at <eval_async>:") >= 0) return undefined;
    let line = writtenPlaces(frame);
    if (line === undefined) return undefined;
    const own = script === "" ? -1 : indexOf(line, " eval (" + script); // as V8 writes it
    if (own >= 0) line = slice(line, 0, own) + " <cell> (" + slice(line, own + 7);
    const at = script === "" ? -1 : indexOf(line, script);
    if (at >= 0) line = slice(line, 0, at) + label + slice(line, at + script.length);
    return renamed(line, "<eval>", "<cell>");
  }
  // A line with another name for the function of its frame.
  function renamed(line, name, other) {
    const at = indexOf(line, name + " ("), before = charCode(line, at - 1);
    return at < 0 || (at > 0 && before !== 32) ? line : slice(line, 0, at) + other + slice(line, at + name.length);
  }
  function thrownText(error) {
    if (typeof error === "string") return slice(error, 0, limits.renderChars);
    if (!isError(error)) return inspect(error, { chars: 2000, depth: 5 });
    const { name, message } = describe(error);
    return message === "" ? name : name + ": " + message;
  }
  // What was thrown, with the fields of an error, in a line or the start of one.
  function thrownLine(error) {
    const text = slice(thrownText(error), 0, 500), fields = isError(error) ? fieldsOf(error, 300) : "";
    return fields === "" ? text : text + " " + fields;
  }
  function errorText(reason) {
    const object = typeof reason === "object" && reason !== null && isError(reason);
    const error = object ? describe(reason) : { name: "Error", message: thrownText(reason), stack: "" };
    if (object) {
      const fields = fieldsOf(reason, 1000, true);
      const more = (fields === "" ? "" : "\n    " + fields) + causesOf(reason) + gatheredIn(reason);
      error.stack = slice(trimEnd(error.stack) + more, error.stack === "" ? 1 : 0);
    }
    return '{"name":' + stringify(error.name) + ',"message":' + stringify(error.message)
      + ',"stack":' + stringify(error.stack) + "}";
  }

