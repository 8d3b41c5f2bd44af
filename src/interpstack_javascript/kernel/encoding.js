  // -- values: guest to wire ---------------------------------------------------------------

  // Guest code can run while a value is read: getters, traps of proxies, `toJSON`. So a value is
  // read exactly once, into a copy of kernel-made objects that inherit nothing, with tags for what
  // JSON lacks, and only the copy is made into text. What an encoding knows lies in its own `job`,
  // since guest code may begin another one in the middle.
  const Fields = function () {};
  defineProperty(Fields, "prototype", { __proto__: null, value: freeze(table()), writable: false });
  class Items extends Array {}
  setPrototypeOf(Items.prototype, null);
  freeze(Items.prototype);
  freeze(Items);
  const firstTime = -62135596800000, lastTime = 253402300799999; // what hosts can tell
  const absent = new Fields(); // stands for every `undefined`
  absent.$ = "undefined";

  function encodeValue(value) { return textOfJob(value, newJob()); }
  // A quiet job exports a variable, one of those in `shared`: what would come back as another value is
  // refused.
  function newJob(shared) {
    return {
      __proto__: null,
      left: limits.valueChars, // characters of JSON that the value may still have
      deepest: 0,              // levels of objects and lists in the copy, at most
      trail: list(),           // keys from the root to what is read, for messages
      path: "",                // to what was refused
      quiet: shared !== undefined, // getters are not run but met, which ends the encoding
      shared,                  // objects of the variables so far; see `metBefore`
      met: false,
      why: "",                 // what cannot be saved, for the reader
      looks: 200000,           // indices that are passed in search of further properties
    };
  }
  function textOfJob(value, job) {
    const copy = copied(value, 0, job);
    if (job.left < 0) tooLarge();
    const text = isSound(3 * job.deepest + 4) ? stringify(copy) : written(copy);
    if (text.length > limits.valueChars) { job.left = -1; tooLarge(); }
    return text;
  }
  // QuickJS pushes each level onto an array of its own, which a guest can tamper with through the
  // prototype of all arrays.
  function isSound(levels) {
    if (getPrototypeOf(arrayPrototype) !== objectPrototype) return false; // a look would run its traps
    for (let i = 0; i < levels; i++) if (i in arrayPrototype) return false;
    return true;
  }
  function written(copy) { // the same text, many times slower
    if (typeof copy !== "object" || copy === null) return stringify(copy);
    let text = "";
    if (isArray(copy)) {
      for (let i = 0; i < copy.length; i++) text += (i === 0 ? "" : ",") + written(copy[i]);
      return "[" + text + "]";
    }
    const names = keys(copy);
    for (let i = 0; i < names.length; i++) text += (i === 0 ? "" : ",") + stringify(names[i]) + ":" + written(copy[names[i]]);
    return "{" + text + "}";
  }
  function refuse(what, depth, job) {
    let path = "$";
    for (let i = 0; i < depth && path.length < 200; i++)
      path += typeof job.trail[i] === "number" ? "[" + job.trail[i] + "]" : "." + job.trail[i];
    path = slice(path, 0, 200);
    if (depth < 20) job.path = slice(path, 1);
    throw new TypeErrorClass(what + " (at " + path + ")");
  }
  function tooLarge() {
    throw new RangeErrorClass("the value is too large to pass to the host: more than " + limits.valueChars + " bytes as JSON");
  }
  function spendChars(job, count) {
    if ((job.left -= count) < 0) tooLarge();
  }
  function tagged(kind, body) {
    const node = new Fields();
    node.$ = kind;
    node.v = body;
    return node;
  }
  // The stack is short: of recursive functions, as few as possible for one level of data. What is
  // most frequent comes first, and is not left to another function: for 1,000 rows, calls and
  // comparisons are what takes the time.
  function copied(value, depth, job) {
    if (typeof value !== "object") return copiedScalar(value, depth, job);
    if (value === null) return null;
    if (job.quiet) {
      const reference = metBefore(value, depth, job);
      if (reference !== undefined) return reference;
    }
    if (depth > job.deepest && (job.deepest = depth) > 190) refuse("the value is nested too deep, or contains itself", depth, job);
    if (isArray(value)) {
      if (job.quiet && getPrototypeOf(value) !== arrayPrototype) refuseChanged(depth, job);
      const items = copiedItems(value, +value.length, depth, job);
      return job.quiet ? completeList(items, value, depth, job) : items;
    }
    const prototype = getPrototypeOf(value);
    if (prototype !== objectPrototype && (prototype !== null || holdsData(value)))
      return job.quiet ? copiedSaved(value, depth, job) : copiedSpecial(value, depth, job);
    if (!job.quiet) return copiedFields(value, depth, job);
    const names = keys(value);
    if (symbolToStringTag in value) refuseChanged(depth, job); // Math, a module
    if (ownKeys(value).length !== names.length) refuseHidden(ownKeys(value), depth, job);
    const fields = copiedData(value, names, depth, job);
    return closedAs(prototype === null ? inPairs(fields, job, "bare", true) : fields, value, job);
  }
  function copiedScalar(value, depth, job) {
    switch (typeof value) {
      case "string":
        spendChars(job, value.length + 2);
        return value;
      case "number":
        if (value - value === 0 && (value !== 0 || 1 / value > 0)) return value;
        spendChars(job, 22);
        return tagged("number", value === 0 ? "-0" : "" + value);
      case "undefined":
        spendChars(job, 16);
        return absent;
      case "bigint": {
        const digits = bigintText(value, 16);
        spendChars(job, digits.length);
        return tagged("bigint", digits);
      }
      case "symbol": return refuse("a symbol cannot be passed to the host", depth, job);
      case "function": return refuse("a function cannot be passed to the host", depth, job);
    }
    return value; // a boolean
  }
  function copiedItems(value, length, depth, job) {
    const made = new Items();
    let chars = length > 0 ? 2 * length : 0; // each with a separator
    if (chars > job.left) { job.left = -1; tooLarge(); }
    for (let i = 0; i < length; i++) {
      const item = value[i];
      switch (typeof item) {
        case "string":
          chars += item.length;
          made[i] = item;
          break;
        case "number":
          if (item - item === 0 && (item !== 0 || 1 / item > 0)) { made[i] = item; break; }
          // falls through
        default:
          job.trail[depth] = i;
          made[i] = item === undefined && job.quiet && !(i in value) ? holeIn(job) : copied(item, depth + 1, job);
      }
    }
    if ((job.left -= chars) < 0) tooLarge();
    return made;
  }
  function copiedFields(value, depth, job) {
    const made = assign(new Fields(), value); // each field is read once, faster than by a loop
    let chars = 0;
    for (const key in made) {
      const item = made[key];
      chars += key.length + 4;
      switch (typeof item) {
        case "string":
          chars += item.length;
          break;
        case "number":
          if (item - item === 0 && (item !== 0 || 1 / item > 0)) break;
          // falls through
        default:
          job.trail[depth] = key;
          made[key] = copied(item, depth + 1, job);
      }
    }
    if ((job.left -= chars) < 0) tooLarge();
    return "$" in made ? pairsOf(made, keys(made)) : made;
  }
  // The same of an object that is saved.
  function copiedData(value, names, depth, job) {
    const made = new Fields(), count = names.length;
    let chars = 4 * count, fixed = false;
    for (let i = 0; i < count; i++) {
      const key = names[i], found = getOwnPropertyDescriptor(value, key);
      if (found === undefined || found.get !== undefined || found.set !== undefined) meet(job);
      if (!found.writable || !found.configurable) fixed = true;
      const item = found.value;
      if (!tellsProxies && value[key] !== item && (item === item || value[key] === value[key])) refuseProxy(depth, job);
      chars += key.length;
      switch (typeof item) {
        case "string":
          chars += item.length;
          made[key] = item;
          break;
        case "number":
          if (item - item === 0 && (item !== 0 || 1 / item > 0)) { made[key] = item; break; }
          // falls through
        default:
          job.trail[depth] = key;
          made[key] = copied(item, depth + 1, job);
      }
    }
    if ((job.left -= chars) < 0) tooLarge();
    if (fixed) for (let i = 0; i < count; i++) checkFixed(value, getOwnPropertyDescriptor(value, names[i]), depth, job);
    return "$" in made ? pairsOf(made, names) : made;
  }
  // An object with a key that would pass for a tag.
  function pairsOf(made, names) {
    const pairs = new Items();
    for (let i = 0; i < names.length; i++) pairs[i] = pairOf(names[i], made[names[i]]);
    return tagged("object", pairs);
  }
  function pairOf(key, item) {
    const pair = new Items();
    pair[0] = key;
    pair[1] = item;
    return pair;
  }
  // Whether an object is a built-in one whose data are no fields, whatever its prototype is.
  function holdsData(value) {
    return attempt(dateTime, value) !== undefined || hasBrand(mapSize, value) || hasBrand(setSize, value)
      || isView(value) || hasBrand(bufferLength, value) || unbox(value) !== undefined;
  }
  function comesBack(value) {
    const prototype = getPrototypeOf(value);
    return prototype === DateClass.prototype || prototype === MapClass.prototype || prototype === SetClass.prototype
      || prototype === Bytes.prototype || errorKind(prototype) !== undefined;
  }
  function refuseChanged(depth, job) {
    refuse("the value would come back as another", depth, job);
  }
  // A value that stays with the host, as code holds it. Its class has the methods that a guest source gives it.
  class Handle {
    #fields;
    constructor(fields) {
      this.#fields = fields;
      const names = keys(fields);
      for (let i = 0; i < names.length; i++) define(this, names[i], fields[names[i]], true);
      freeze(this);
    }
    static handleFields(value) { return #fields in value ? value.#fields : undefined; }
  }
  const { handleFields } = Handle;
  deleteProperty(Handle, "handleFields");
  freeze(Handle);
  function copiedSaved(value, depth, job) {
    const fields = handleFields(value);
    if (fields !== undefined) return tagged("standin", copied(fields, depth + 1, job));
    if (!comesBack(value)) refuseChanged(depth, job);
    const made = copiedSpecial(value, depth, job);
    if (made.$ === "bytes") checkBuffer(value, depth, job);
    if (made.$ === "error") {
      made.class = errorKind(getPrototypeOf(value));
      checkError(value, made.v, depth, job);
    }
    const bytes = made.$ === "bytes" ? typedLength(value) : 0;
    return closedAs(withOwn(made, value, furtherNames(value, bytes, made.$ === "error", depth, job), depth, job), value, job);
  }
  function copiedSpecial(value, depth, job) {
    const fields = handleFields(value);
    if (fields !== undefined) return tagged("standin", copied(fields, depth + 1, job));
    const time = attempt(dateTime, value);
    if (time !== undefined) {
      if (!job.quiet && !(time >= firstTime && time <= lastTime)) refuse((time === time ? "a date outside the years 1 to 9999"
        : "an invalid Date") + " cannot be passed to the host", depth, job);
      return tagged("date", time === time ? time : null);
    }
    if (hasBrand(mapSize, value)) return tagged("map", copiedPairs(entriesOf(value), depth, job));
    if (hasBrand(setSize, value)) return tagged("set", copiedMembers(itemsOf(value), depth, job));
    const bytes = bytesOf(value, depth, job);
    if (bytes !== undefined) return tagged("bytes", toBase64(bytes, job));
    if (job.quiet) meetAccessors(value, job);
    if (isError(value)) return copiedError(value, job);
    if (job.quiet) refuseChanged(depth, job); // it only inherits from a built-in class
    if (isPromise(value)) refuse("a promise" + ofCall(value) + " cannot be passed to the host; await it first", depth, job);
    const boxed = unbox(value);
    if (boxed !== undefined) return copied(boxed.value, depth + 1, job);
    const toJSON = value.toJSON;
    job.trail[depth] = "toJSON()";
    if (typeof toJSON === "function") return copied(apply(toJSON, value, [""]), depth + 1, job);
    const made = copiedFields(value, depth, job);
    for (const key in made) return made; // it has a field
    return refuseOpaque(value, made, depth, job);
  }
  // A built-in object without fields holds its data out of reach: it would arrive as `{}`.
  function refuseOpaque(value, made, depth, job) {
    const tag = value[symbolToStringTag], isRegexp = attempt(regexpSource, value) !== undefined;
    if (!isRegexp && (typeof tag !== "string" || tag === "")) return made; // one of the guest's own classes
    const kind = isRegexp ? "RegExp" : slice(tag, 0, 80);
    const remedy = isRegexp ? "pass its source" : typeof value[symbolIterator] === "function" ? "make an array of it, as in [...it]" : "pass plain data";
    return refuseKind(kind, remedy, depth, job);
  }
  function refuseKind(kind, remedy, depth, job) {
    return refuse("a value of the kind " + kind + " cannot be passed to the host; " + remedy, depth, job);
  }
  // -- what a saved variable has beside its parts -------------------------------------------

  // A tag may have more fields: `own`, further properties, as [key, value, whether an error's `cause` or
  // `errors` is enumerable]; `closed`, how far the object is closed; `bare`, of an object without a
  // prototype; `class`, of an error. Whoever does not know them reads the value without. What has neither
  // form is refused.
  const hole = new Fields(); // where an array has no item
  hole.$ = "undefined";
  hole.hole = true;
  function holeIn(job) {
    spendChars(job, 30);
    return hole;
  }
  const nothing = list();
  function completeList(items, value, depth, job) {
    const further = furtherNames(value, -1, false, depth, job);
    checkFixed(value, getOwnPropertyDescriptor(value, "length"), depth, job, true);
    if (further.length === 0 && isExtensible(value)) return items;
    return closedAs(withOwn(tagged("list", items), value, further, depth, job), value, job);
  }
  // The keys of properties that a list (`indices` is -1) or another builtin has beside its own.
  function furtherNames(value, indices, ofError, depth, job) {
    if ((job.looks -= indices < 0 ? value.length : indices) < 0) { // to look would take too long
      if (indices < 0 && getOwnPropertyDescriptor(value, "index") !== undefined) refuseChanged(depth, job); // a match
      return nothing;
    }
    const all = ownKeys(value), further = list();
    for (let i = all.length - 1; i >= 0 && i >= indices && (indices >= 0 || all[i] !== "length"); i--) {
      const key = all[i];
      if (typeof key === "symbol") refuseHidden(all, depth, job);
      const found = getOwnPropertyDescriptor(value, key);
      if (ofError && (key === "stack" || key === "message" || key === "name") && found?.enumerable === false) continue;
      if (found === undefined || found.get !== undefined || found.set !== undefined) meet(job);
      if (!found.enumerable && !(ofError && (key === "cause" || key === "errors"))) refuseHidden(all, depth, job);
      checkFixed(value, found, depth, job);
      further[further.length] = key;
    }
    return further;
  }
  function withOwn(node, value, further, depth, job) {
    if (further.length === 0) return node;
    const pairs = new Items();
    for (let i = 0; i < further.length; i++) {
      const key = further[further.length - 1 - i];
      spendChars(job, key.length + 8);
      job.trail[depth] = key;
      pairs[i] = pairOf(key, copied(value[key], depth + 1, job));
      if (node.$ === "error" && (key === "cause" || key === "errors") && propertyIsEnumerable(value, key)) pairs[i][2] = true;
    }
    node.own = pairs;
    return node;
  }
  function closedAs(made, value, job) {
    if (isExtensible(value)) return made;
    return inPairs(made, job, "closed", isFrozen(value) ? "frozen" : isSealed(value) ? "sealed" : "closed");
  }
  function inPairs(made, job, key, value) {
    let node = made;
    if (made.$ === undefined) {
      const names = keys(made);
      spendChars(job, 20 + 4 * names.length);
      node = pairsOf(made, names);
    }
    node[key] = value;
    return node;
  }
  function refuseHidden(all, depth, job) {
    let what = "a property that is not enumerable";
    for (let i = 0; i < all.length; i++) if (typeof all[i] === "symbol") what = "a property with a symbol as its key";
    refuseSaving(what, depth, job);
  }
  function refuseSaving(what, depth, job, remedy = "") {
    job.why = what + " cannot be saved" + remedy;
    refuse(job.why, depth, job);
  }
  // A property that is read-only or stays: of a frozen or sealed object alone, which comes back as such.
  function checkFixed(value, found, depth, job, stays = false) {
    if (!found.writable && !isFrozen(value)) refuseSaving("a read-only property of an object that is not frozen", depth, job);
    if (!found.configurable && !stays && !isSealed(value)) refuseSaving("a property that cannot be deleted from an object that is not sealed", depth, job);
  }
  // -- objects that variables share -----------------------------------------------------------

  // What an object is and which of its places hold the same one is a part of the values, within a variable
  // and across them. A variable's objects are numbered from 0 in the order of its text. Where one of them
  // comes again, also inside itself, stands {"$": "same", "v": its number}, or [variable, number].
  // Marks at the objects themselves would have to be put there after they are copied.
  function newShared() {
    return { __proto__: null, numbers: new MapClass(), buffers: new MapClass(), count: 0, jobs: list() };
  }
  // Begin to export a variable: {name, first: the number of its first object, kept}.
  function variableIn(shared, name) {
    return shared.jobs[shared.jobs.length] = { __proto__: null, name, first: shared.count, kept: true };
  }
  // Where an engine cannot tell a proxy, it is one whose property reads as another value than the target has.
  let isProxy = () => false, tellsProxies = false;
  function refuseProxy(depth, job) {
    refuseSaving("a proxy", depth, job, "; keep its target in a variable");
  }
  function metBefore(value, depth, job) {
    if (isProxy(value)) refuseProxy(depth, job);
    const { shared } = job, number = mapGet(shared.numbers, value);
    const owner = number === undefined ? undefined : ownerOf(number, shared);
    if (owner === undefined) {
      mapSet(shared.numbers, value, shared.count++);
      return undefined;
    }
    if (owner === shared.jobs[shared.jobs.length - 1]) {
      spendChars(job, 20);
      return tagged("same", number - owner.first);
    }
    spendChars(job, 20 + owner.name.length);
    return tagged("same", pairOf(owner.name, number - owner.first));
  }
  // The variable with an object's text; none if that variable is not saved.
  function ownerOf(number, { jobs }) {
    let low = 0, high = jobs.length - 1;
    while (low < high) {
      const middle = floor((low + high + 1) / 2);
      if (jobs[middle].first <= number) low = middle;
      else high = middle - 1;
    }
    return jobs[low].kept ? jobs[low] : undefined;
  }
  // Bytes come back in a buffer of their own.
  const SLICE = "; slice() makes a copy that can";
  function checkBuffer(value, depth, job) {
    const buffer = typedBuffer(value), { shared } = job, number = mapGet(shared.buffers, buffer);
    if (number !== undefined && ownerOf(number, shared) !== undefined) refuseSaving("a second view of the same buffer", depth, job, SLICE);
    if (!hasBrand(bufferLength, buffer) || bufferLength(buffer) !== typedBytes(value) || bufferResizable?.(buffer) === true)
      refuseSaving("a view of a part of a buffer, or of one that can grow", depth, job, SLICE);
    mapSet(shared.buffers, buffer, mapGet(shared.numbers, value));
  }
  // The name of a class of errors that comes back.
  function errorKind(prototype) {
    for (const name in errorClasses) if (errorClasses[name].prototype === prototype) return name;
    return undefined;
  }
  // Whether an error's hidden properties are those that it is described by.
  function checkError(value, described, depth, job) {
    const message = getOwnPropertyDescriptor(value, "message"), name = getOwnPropertyDescriptor(value, "name");
    if (message !== undefined && !message.enumerable) {
      if (message.value !== described.message) refuseChanged(depth, job);
      checkFixed(value, message, depth, job);
    }
    if (name !== undefined && !name.enumerable) {
      if (name.value !== described.name) refuseChanged(depth, job);
      checkFixed(value, name, depth, job);
    }
  }

  function copiedPairs(entries, depth, job) {
    const pairs = new Items();
    for (let i = 0; i < entries.length; i += 2) {
      spendChars(job, 5);
      job.trail[depth] = "<key>";
      const key = copied(entries[i], depth + 1, job);
      job.trail[depth] = "<value>";
      pairs[i / 2] = pairOf(key, copied(entries[i + 1], depth + 1, job));
    }
    return pairs;
  }
  function copiedMembers(found, depth, job) {
    const made = new Items();
    spendChars(job, 2 * found.length);
    for (let i = 0; i < found.length; i++) {
      job.trail[depth] = "<item>";
      made[i] = copied(found[i], depth + 1, job);
    }
    return made;
  }
  function copiedError(value, job) {
    const { name, message, stack } = describe(value), node = new Fields();
    spendChars(job, name.length + message.length + stack.length);
    node.name = name;
    node.message = message;
    node.stack = stack;
    return tagged("error", node);
  }
  function meetAccessors(value, job) {
    const names = ownKeys(value);
    for (let i = 0; i < names.length; i++) {
      const found = names[i] === "stack" ? undefined : getOwnPropertyDescriptor(value, names[i]);
      if (found?.get !== undefined || found?.set !== undefined) meet(job);
    }
  }
  function meet(job) {
    job.met = true;
    throw new TypeErrorClass("an accessor");
  }
  function entriesOf(map, limit) { // key, value, key, value…
    const entries = list();
    mapForEach(map, (item, key) => {
      if (entries.length === limit) return;
      entries[entries.length] = key;
      entries[entries.length] = item;
    });
    return entries;
  }
  function itemsOf(set, limit) {
    const found = list();
    setForEach(set, (item) => { if (found.length !== limit) found[found.length] = item; });
    return found;
  }
  function isError(value) {
    if (attempt((v) => apply(isPrototypeOf, ErrorClass.prototype, [v]), value) === true) return true;
    return nativeIsError !== undefined && nativeIsError(value); // one of another realm
  }
  let isForeignPromise; // an engine whose guests get promises of another realm tells them
  function isPromise(value) {
    if (attempt((v) => apply(isPrototypeOf, PromiseClass.prototype, [v]), value) === true) return true;
    return isForeignPromise !== undefined && isForeignPromise(value);
  }
  function unbox(value) {
    if (hasBrand(valueOfNumber, value)) return { value: valueOfNumber(value), kind: "Number" };
    if (hasBrand(valueOfString, value)) return { value: valueOfString(value), kind: "String" };
    if (hasBrand(valueOfBoolean, value)) return { value: valueOfBoolean(value), kind: "Boolean" };
    if (hasBrand(valueOfBigint, value)) return { value: valueOfBigint(value), kind: "BigInt" };
    if (hasBrand(valueOfSymbol, value)) return { value: valueOfSymbol(value), kind: "Symbol" };
    return undefined;
  }
  function bytesOf(value, depth, job) {
    if (hasBrand(bufferLength, value)) return new Bytes(value);
    if (!isView(value)) return undefined;
    const kind = typedTag(value);
    if (kind === undefined) return undefined; // a DataView
    // The items of the other kinds are numbers, and not the bytes of their buffer.
    if (kind !== "Uint8Array" && kind !== "Uint8ClampedArray") refuseKind(kind, "make an array of it, as in [...it]", depth, job);
    return new Bytes(typedBuffer(value), typedOffset(value), typedBytes(value));
  }
  function toBase64(bytes, job) {
    const length = typedLength(bytes), size = 4 * floor((length + 2) / 3);
    spendChars(job, size);
    if (nativeToBase64 !== undefined) return nativeToBase64(bytes);
    let text = "";
    for (let i = 0; i < length; i += 3) {
      const b = i + 1 < length ? bytes[i + 1] : 0, c = i + 2 < length ? bytes[i + 2] : 0;
      text += base64[bytes[i] >> 2] + base64[((bytes[i] & 3) << 4) | (b >> 4)]
        + (i + 1 < length ? base64[((b & 15) << 2) | (c >> 6)] : "=") + (i + 2 < length ? base64[c & 63] : "=");
    }
    return text;
  }

