  // -- rendering, in the notation of Node's inspector --------------------------------------

  // Options: chars, the size at which to stop; depth, the levels to show; most, a text longer than which is
  // shortened, see `shortened`.
  function inspect(value, options) {
    const chars = options && options.chars || limits.renderChars;
    const view = newView(chars, options && options.depth || 50);
    const text = show(value, view, 0);
    if (!options) return text;
    const short = options.most > 0 && (view.cut || text.length > options.most) ? shortened(value, options) : undefined;
    options.cut = short === undefined && view.cut;
    options.shortened = short !== undefined;
    return short === undefined ? text : short;
  }
  function newView(chars, depth) {
    return { __proto__: null, left: chars, depth, path: list(), cut: false, most: null };
  }
  function spend(view, text) {
    view.left -= text.length;
    return text;
  }
  function clip(text, view) {
    if (text.length <= view.left) return text;
    view.cut = true;
    return slice(text, 0, view.left > 0 ? view.left : 0);
  }
  function quote(text, view) {
    return spend(view, stringify(clip(text, view)));
  }
  function show(value, view, level) {
    switch (typeof value) {
      case "string": return view.most === null || value.length <= view.most.texts ? quote(value, view)
        : spend(view, stringify(beginning(value, view.most.texts)) + moreOf(value.length - view.most.texts, "character"));
      case "number": return spend(view, value === 0 && 1 / value < 0 ? "-0" : "" + value);
      case "bigint": return spend(view, clip(showBigint(value), view));
      case "symbol": return spend(view, clip(symbolToString(value), view));
      case "object": case "function": break;
      default: return spend(view, "" + value); // undefined, booleans
    }
    if (value === null) return spend(view, "null");
    for (let i = 0; i < view.path.length; i++) if (view.path[i] === value) return spend(view, "[Circular]");
    if (view.left <= 0) {
      view.cut = true;
      return "…";
    }
    const at = view.path.length;
    view.path[at] = value;
    try {
      return showObject(value, view, level);
    } catch (error) {
      return spend(view, "[Throws: " + slice(thrownText(error), 0, 200) + "]");
    } finally {
      view.path.length = at;
    }
  }
  function showBigint(value) {
    // Decimal digits cost quadratic time that no engine interrupts.
    const hex = bigintText(value, 16);
    return hex.length > 20000 ? (hex[0] === "-" ? "-0x" + slice(hex, 1) : "0x" + hex) + "n" : bigintText(value) + "n";
  }
  function showObject(value, view, level) {
    if (typeof value === "function") return withMembers(showFunction(value), value, view, level);
    const array = isArray(value);
    const prototype = getPrototypeOf(value);
    if (!array && prototype === objectPrototype && !(symbolToStringTag in value) && !("callee" in value && isArguments(value))) {
      if (level >= view.depth) return spend(view, "[Object]");
      return "{" + members(value, view, level, list(), 0) + "}";
    }
    if (array) {
      const name = prototype === arrayPrototype ? "" : className(value, prototype, "Array") + "(" + value.length + ") ";
      if (level >= view.depth) return spend(view, "[Array]");
      return name + "[" + items(value, view, level, true) + "]";
    }
    return showSpecial(value, prototype, view, level);
  }
  function isArguments(value) {
    return apply(objectToString, value, []) === "[object Arguments]"
      && getOwnPropertyDescriptor(value, "callee") !== undefined;
  }
  function showSpecial(value, prototype, view, level) {
    const time = attempt(dateTime, value);
    if (time !== undefined) return withMembers(time === time ? dateISO(value) : "Invalid Date", value, view, level);
    if (isError(value)) return showError(value, view, level);
    if (hasBrand(regexpFlag.g, value) && value !== regexpPrototype) return withMembers(showRegexp(value), value, view, level);
    if (level >= view.depth) return spend(view, "[" + className(value, prototype, "Object") + "]");
    const size = attempt(mapSize, value);
    if (size !== undefined) {
      const most = view.most === null ? size : view.most.items;
      const parts = list(), entries = entriesOf(value, 2 * (most < view.left ? most : view.left));
      for (let i = 0; i < size && more(view, i, size); i++) {
        if (i === most) {
          parts[i] = spend(view, moreOf(size - i, "entry", "entries"));
          break;
        }
        parts[i] = show(entries[2 * i], view, level + 1) + " => " + show(entries[2 * i + 1], view, level + 1);
        view.left -= 8;
      }
      return className(value, prototype, "Map") + "(" + size + ") {" + members(value, view, level, parts, 0) + "}";
    }
    const count = attempt(setSize, value);
    if (count !== undefined) {
      const most = view.most === null ? count : view.most.items;
      const parts = list(), found = itemsOf(value, most < view.left ? most : view.left);
      for (let i = 0; i < count && more(view, i, count); i++) {
        if (i === most) {
          parts[i] = spend(view, moreOf(count - i, "item"));
          break;
        }
        parts[i] = show(found[i], view, level + 1);
        view.left -= view.most === null ? 8 : 2;
      }
      return className(value, prototype, "Set") + "(" + count + ") {" + members(value, view, level, parts, 0) + "}";
    }
    if (isView(value) && typedTag(value) !== undefined)
      return className(value, prototype, typedTag(value)) + "(" + typedLength(value) + ") [" + typedItems(value, view) + "]";
    const buffer = attempt(bufferLength, value);
    if (buffer !== undefined)
      return spend(view, className(value, prototype, "ArrayBuffer") + " {" + contents(value, buffer) + "byteLength: " + buffer + "}");
    if (isView(value)) {
      const start = className(value, prototype, "DataView") + " {byteLength: " + viewLength(value) + ", byteOffset: " + viewOffset(value);
      return spend(view, start + ", buffer: ") + show(viewBuffer(value), view, level + 1) + "}";
    }
    const boxed = unbox(value);
    if (boxed !== undefined) {
      const text = "[" + boxed.kind + ": " + show(boxed.value, view, level + 1) + "]";
      const extra = members(value, view, level, list(), boxed.kind === "String" ? boxed.value.length : 0);
      return extra === "" ? text : text + " {" + extra + "}";
    }
    if (isPromise(value)) {
      notePromise(value);
      return spend(view, className(value, prototype, "Promise") + " {…}");
    }
    if (hasBrand((v) => weakMapHas(v, view), value)) return spend(view, "WeakMap {<items unknown>}");
    if (hasBrand((v) => weakSetHas(v, view), value)) return spend(view, "WeakSet {<items unknown>}");
    if (hasBrand(weakRefDeref, value)) return "WeakRef {" + show(weakRefDeref(value), view, level + 1) + "}";
    if (isArguments(value)) return "[Arguments] [" + items(value, view, level, false) + "]";
    const name = prototype === null ? "[Object: null prototype]" : className(value, prototype, "Object");
    const tag = attempt((v) => v[symbolToStringTag], value);
    const tagged = typeof tag === "string" && tag !== "";
    // What a value of `Temporal` holds is in no property.
    const held = tagged && slice(tag, 0, 9) === "Temporal." ? attempt((v) => v.toJSON(), value) : undefined;
    if (typeof held === "string") return withMembers(slice(tag, 0, 80) + " <" + clip(held, view) + ">", value, view, level);
    const shown = tagged && tag !== name ? name + " [" + slice(tag, 0, 80) + "]" : name;
    const isTagged = tagged && getOwnPropertyDescriptor(value, symbolToStringTag) === undefined; // and no prototype itself
    const parts = isTagged ? attributes(value, prototype, view, level) : list();
    const named = parts.length > 0; // the polyfill of URL keeps a cache under a symbol
    return spend(view, (shown === "Object" ? "" : shown + " ") + "{") + members(value, view, level, parts, 0, named) + "}";
  }
  // Classes of the web have no fields: what they hold are getters of their prototypes, which are enumerable,
  // unlike those of a class in JavaScript. `URLSearchParams` is a list of pairs, and `href` is all of a URL.
  function attributes(value, prototype, view, level) {
    const parts = list();
    for (let at = prototype, i = 0; at !== null && at !== objectPrototype && i < 5; at = getPrototypeOf(at), i++) {
      if (getOwnPropertyDescriptor(at, symbolToStringTag) === undefined) continue;
      const entries = getOwnPropertyDescriptor(at, "entries");
      if (entries !== undefined && entries.enumerable && typeof entries.value === "function") {
        const iterator = apply(entries.value, value, []), { next } = iterator;
        for (let step = apply(next, iterator, []); !step.done && more(view, 0, 1); step = apply(next, iterator, [])) {
          const pair = step.value;
          parts[parts.length] = show(pair[0], view, level + 1) + " => " + show(pair[1], view, level + 1);
          view.left -= 8;
        }
        return parts;
      }
      const names = getOwnPropertyDescriptor(at, "href") === undefined ? ownKeys(at) : ["href"];
      for (let k = 0; k < names.length; k++) {
        const found = getOwnPropertyDescriptor(at, names[k]);
        if (typeof names[k] !== "string" || found.get === undefined || !found.enumerable) continue;
        if (!more(view, k, names.length)) return parts;
        parts[parts.length] = member(value, names[k], view, level);
      }
    }
    return parts;
  }
  function contents(buffer, length) {
    const bytes = attempt((one) => new Bytes(one), buffer);
    if (bytes === undefined) return "(detached), ";
    let text = "";
    for (let i = 0; i < length && i < 50; i++) text += (i === 0 ? "" : " ") + hexDigits[bytes[i] >> 4] + hexDigits[bytes[i] & 15];
    if (length > 50) text += " ... " + (length - 50) + " more byte" + (length === 51 ? "" : "s");
    return "[Uint8Contents]: <" + text + ">, ";
  }
  const hexDigits = "0123456789abcdef";
  function showRegexp(value) {
    let text = "/" + regexpSource(value) + "/";
    for (let i = 0; i < 8; i++) if (regexpFlag["dgimsuvy"[i]](value)) text += "dgimsuvy"[i];
    return text;
  }
  function className(value, prototype, fallback) {
    for (let at = prototype, i = 0; at !== null && i < 20; i++) {
      const made = getOwnPropertyDescriptor(at, "constructor");
      if (made !== undefined && typeof made.value === "function") {
        const name = getOwnPropertyDescriptor(made.value, "name");
        if (name !== undefined && typeof name.value === "string" && name.value !== "") return slice(name.value, 0, 80);
      }
      at = getPrototypeOf(at);
    }
    return fallback;
  }
  function showFunction(value) {
    const source = attempt(functionToString, value);
    const described = getOwnPropertyDescriptor(value, "name");
    const name = described !== undefined && typeof described.value === "string" ? slice(described.value, 0, 80) : "";
    if (typeof source === "string" && slice(source, 0, 5) === "class" && !isIdentifier(source[5])) {
      const base = getPrototypeOf(value);
      const parent = typeof base === "function" ? getOwnPropertyDescriptor(base, "name") : undefined;
      const extended = parent !== undefined && typeof parent.value === "string" && parent.value !== ""
        ? " extends " + slice(parent.value, 0, 80) : "";
      return "[class " + (name || "(anonymous)") + extended + "]";
    }
    const tag = attempt((v) => v[symbolToStringTag], value);
    const kind = typeof tag === "string" && tag !== "" ? slice(tag, 0, 40) : "Function";
    return "[" + kind + (name === "" ? " (anonymous)" : ": " + name) + "]";
  }
  const ERROR_FIELDS = ["errors", "error", "suppressed"]; // of an `AggregateError`, and of a `SuppressedError`
  function showError(value, view, level) {
    const error = describe(value);
    const title = error.name + (error.message === "" ? "" : ": " + error.message);
    const text = error.stack === "" ? (level === 0 ? title : "[" + title + "]") : title + "\n" + trimEnd(error.stack);
    if (level >= view.depth) return spend(view, clip(text, view));
    const own = keys(value), parts = list();
    for (let i = 0; i < own.length; i++) {
      const key = own[i];
      if (key === "name" || key === "message" || key === "stack") continue;
      if (more(view, i, own.length)) parts[parts.length] = spend(view, keyText(key) + ": ") + show(value[key], view, level + 1);
    }
    const cause = getOwnPropertyDescriptor(value, "cause");
    if (cause !== undefined && cause.enumerable === false) parts[parts.length] = "[cause]: " + show(cause.value, view, level + 1);
    for (let i = 0; i < ERROR_FIELDS.length; i++) {
      const found = hiddenField(value, ERROR_FIELDS[i]);
      if (found !== undefined) parts[parts.length] = "[" + ERROR_FIELDS[i] + "]: " + show(found, view, level + 1);
    }
    return spend(view, clip(text, view)) + (parts.length === 0 ? "" : " {" + join(parts, ", ") + "}");
  }
  function more(view, done, total) {
    if (view.left > 0) return true;
    if (done < total) view.cut = true;
    return false;
  }
  function items(value, view, level, extras) {
    const parts = list(), length = value.length, { first, from } = shownItems(length, view);
    let present = 0;
    for (let i = 0; i < length && more(view, i, length); i++) {
      if (i === first) {
        parts[parts.length] = spend(view, gapText(first, from, length));
        if ((i = from) === length) break;
      }
      const item = value[i];
      if (item === undefined && getOwnPropertyDescriptor(value, i) === undefined) {
        // Skip a gap in one step: guests can make arrays of 4 billion holes for nothing.
        const next = nextIndex(value, i, length);
        const holes = next - i;
        i = next - 1;
        parts[parts.length] = spend(view, "<" + holes + " empty item" + (holes === 1 ? "" : "s") + ">");
        continue;
      }
      present++;
      parts[parts.length] = show(item, view, level + 1);
      view.left -= 2;
    }
    return extras && first === length ? members(value, view, level, parts, present) : join(parts, ", ");
  }
  function nextIndex(value, from, length) {
    const step = from + 64 < length ? from + 64 : length;
    for (let i = from + 1; i < step; i++) if (getOwnPropertyDescriptor(value, i) !== undefined) return i;
    if (step === length) return length;
    let next = length;
    const names = ownKeys(value);
    for (let i = 0; i < names.length; i++) {
      if (typeof names[i] !== "string") continue;
      const index = +names[i];
      if (index > from && index < next) next = index;
    }
    return next;
  }
  function typedItems(value, view) {
    const parts = list(), length = typedLength(value), { first, from } = shownItems(length, view);
    for (let i = 0; i < length && more(view, i, length); i++) {
      if (i === first) {
        parts[parts.length] = spend(view, gapText(first, from, length));
        if ((i = from) === length) break;
      }
      parts[parts.length] = show(value[i], view, 1);
      view.left -= 2;
    }
    return join(parts, ", ");
  }
  // Appends `key: value` for own properties, or only for those with names; those of an array come behind
  // its `indices` items.
  function members(value, view, level, parts, indices, named) {
    const names = keysOf(value, view), array = isArray(value);
    let fields = view.most === null ? names.length : view.most.fields;
    for (let i = indices; i < names.length; i++) {
      const key = names[i];
      if (array && typeof key === "string" && (key === "" + i || isIndex(key))) continue; // the first is quick
      if (!propertyIsEnumerable(value, key) || named && typeof key === "symbol") continue;
      if (!more(view, i, names.length)) break;
      if (fields-- === 0) {
        parts[parts.length] = spend(view, moreOf(names.length - i, "key"));
        break;
      }
      parts[parts.length] = member(value, key, view, level);
    }
    return join(parts, ", ");
  }
  function member(value, key, view, level) {
    const shown = spend(view, fieldText(key, view));
    let text;
    try {
      text = view.most !== null && getOwnPropertyDescriptor(value, key)?.get !== undefined ? spend(view, "[Getter]") // it ran once
        : show(value[key], view, level + 1);
    } catch (error) {
      text = spend(view, "[Throws: " + slice(thrownText(error), 0, 200) + "]");
    }
    view.left -= 4;
    return shown + ": " + text;
  }
  function fieldText(key, view) {
    return typeof key === "symbol" ? "[" + symbolToString(key) + "]" : keyText(clip(key, view));
  }
  function withMembers(text, value, view, level) {
    spend(view, text);
    const inner = level >= view.depth ? "" : members(value, view, level, list(), 0);
    return inner === "" ? text : text + " {" + inner + "}";
  }
  const knownKeys = table(); // keys that need no quotes
  let knownCount = 0;
  function keyText(key) {
    if (knownKeys[key] === true) return key;
    if (key.length > 0 && key.length < 200 && !isDigit(charCode(key, 0))) {
      let plain = true;
      for (let i = 0; i < key.length && plain; i++) plain = isIdentifier(key[i]);
      if (plain && knownCount < 500) {
        knownCount++;
        knownKeys[key] = true;
      }
      if (plain) return key;
    } else if (isIndex(key)) return key;
    return stringify(key);
  }
  function isDigit(code) { return code >= 48 && code <= 57; }
  function isIndex(key) {
    if (key.length === 0 || key.length > 10) return false;
    for (let i = 0; i < key.length; i++) if (!isDigit(charCode(key, i))) return false;
    return key === "0" || key[0] !== "0";
  }
  function isIdentifier(char) {
    if (char === undefined) return false;
    const code = charCode(char, 0);
    return isDigit(code) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 95 || code === 36;
  }
  function trimEnd(text) {
    let end = text.length;
    while (end > 0 && (text[end - 1] === "\n" || text[end - 1] === " ")) end--;
    return slice(text, 0, end);
  }

