// Keeps array builtins from running over more indices than V8 can be stopped in.
//
// They ask neither the clock nor the heap limit while they pass holes, or what they copy; `sort` even
// ends the process where its copy would be larger than V8's arrays can be. So arrays of ordinary size
// go to V8's builtins, and all else to the ones below, which guests could have written: they can be
// stopped at each step. Runs before everything else in a fresh context; takes V8's test for proxies,
// whose length may be another each time.
(isProxy) => {
  "use strict";
  const { apply, construct, defineProperty, getPrototypeOf, ownKeys } = Reflect;
  const uncurry = Function.prototype.bind.bind(Function.prototype.call), evaluate = eval;
  const RangeErrorClass = RangeError, TypeErrorClass = TypeError, ArrayClass = Array, ObjectFunction = Object;
  const { isArray, prototype: arrays } = Array, objects = Object.prototype, { trunc, min, max } = Math;
  const { species, iterator, isConcatSpreadable } = Symbol;
  const MOST_NATIVE = 2 ** 24; // indices that V8 passes within a second
  const MOST_ITEMS = 2 ** 27 - 16; // of V8's arrays, with some to spare
  const MOST_TEXT = 2 ** 29; // characters
  const MOST_COMPARED = 2 ** 25; // characters of texts that V8 sorts by itself: each is compared many times
  const MOST_LENGTH = 2 ** 53 - 1, MOST_ARRAY = 2 ** 32 - 1;
  const put = (owner, name, method) => defineProperty(owner, name, { __proto__: null, value: method });
  const tooMany = () => new RangeErrorClass("Invalid array length");

  // -- what the language calls abstract operations ------------------------------------------

  const isSmall = (value) => isArray(value) && !isProxy(value) && value.length <= MOST_NATIVE;
  const lengthOf = (source) => min(max(trunc(+source.length) || 0, 0), MOST_LENGTH);
  const indexOf = (given, length) => {
    const index = trunc(+given) || 0;
    return index < 0 ? max(length + index, 0) : min(index, length);
  };
  const endOf = (given, length) => given === undefined ? length : indexOf(given, length);
  function owned(value, name) {
    if (value === undefined || value === null) throw new TypeErrorClass("Array.prototype." + name + " called on null or undefined");
    return ObjectFunction(value);
  }
  function called(callback) {
    if (typeof callback !== "function") throw new TypeErrorClass(`${typeof callback === "symbol" ? "symbol" : typeof callback} is not a function`);
    return callback;
  }
  // An array of the kind of `source`.
  function madeLike(source, length) {
    let maker;
    if (isArray(source)) {
      maker = source.constructor;
      if (typeof maker === "object" && maker !== null || typeof maker === "function") maker = maker[species];
    }
    if (maker !== undefined && maker !== null && maker !== ArrayClass) return construct(maker, [length]);
    return sized(length);
  }
  // The room comes with the items.
  function sized(length) {
    if (length > MOST_ARRAY) throw tooMany();
    return [];
  }
  function add(target, at, value) {
    if (getPrototypeOf(target) === arrays && !(at in arrays)) target[at] = value;
    else if (!defineProperty(target, at, { __proto__: null, value, writable: true, enumerable: true, configurable: true }))
      throw new TypeErrorClass("Cannot define property " + at);
  }
  function move(owner, from, to) {
    if (from in owner) owner[to] = owner[from];
    else delete owner[to];
  }
  function moveUp(owner, from, to, count) {
    while (count-- > 0) move(owner, from + count, to + count);
  }
  function moveDown(owner, from, to, count) {
    for (let i = 0; i < count; i++) move(owner, from + i, to + i);
  }
  function copied(target, source, from, count) {
    for (let i = 0; i < count; i++) if (from + i in source) add(target, i, source[from + i]);
    target.length = count;
    return target;
  }
  function refuseLength(length) {
    if (length > MOST_LENGTH) throw new TypeErrorClass("Array length " + length + " is too large");
  }

  // -- the builtins: the receiver, its length, the arguments --------------------------------

  const nativeSort = arrays.sort;
  function sorted(source, length, compare, holes) {
    const items = [];
    for (let i = 0, at = 0; i < length; i++) {
      if (!holes && !(i in source)) continue;
      if (at >= MOST_ITEMS) throw tooMany();
      add(items, at++, source[i]);
    }
    return apply(nativeSort, items, [compare]);
  }
  const compareTexts = (a, b) => {
    const one = `${a}`, other = `${b}`;
    return one < other ? -1 : one > other ? 1 : 0;
  };
  // Whether to compare the items takes so long that V8 has to be stopped in between.
  function isHeavy(items) {
    let chars = 0;
    for (let i = 0; i < items.length && chars <= MOST_COMPARED; i++) if (typeof items[i] === "string") chars += items[i].length;
    return chars > MOST_COMPARED;
  }
  function checkCompare(compare) {
    if (compare !== undefined && typeof compare !== "function")
      throw new TypeErrorClass("The comparison function must be either a function or undefined");
  }
  // Calls `visit(value, index)` for what is there, until it returns true.
  function each(source, length, callback, self, visit) {
    called(callback);
    for (let i = 0; i < length; i++) {
      if (!(i in source)) continue;
      const value = source[i];
      if (visit(apply(callback, self, [value, i, source]), value, i)) return true;
    }
    return false;
  }
  function reduced(source, length, given, from, step) {
    const callback = called(given[0]);
    let i = from, left = length, value;
    if (given.length > 1) value = given[1];
    else {
      while (left > 0 && !(i in source)) i += step, left--;
      if (left === 0) throw new TypeErrorClass("Reduce of empty array with no initial value");
      value = source[i], i += step, left--;
    }
    for (; left > 0; i += step, left--) if (i in source) value = callback(value, source[i], i, source);
    return value;
  }
  // Where items go, how many V8 would remove, and those that come in their place.
  function spliced(length, given) {
    const start = indexOf(given[0], length), added = max(given.length - 2, 0);
    const rest = length - start;
    const removed = given.length === 0 ? 0 : given.length === 1 ? rest : min(max(trunc(+given[1]) || 0, 0), rest);
    return { __proto__: null, start, added, removed, length: length + added - removed };
  }
  const builtins = {
    __proto__: null,
    copyWithin(source, length, given) {
      const to = indexOf(given[0], length), from = indexOf(given[1], length);
      const count = min(endOf(given[2], length) - from, length - to);
      if (from < to && to < from + count) moveUp(source, from, to, count);
      else moveDown(source, from, to, count);
      return source;
    },
    every: (source, length, given) => !each(source, length, given[0], given[1], (found) => !found),
    fill(source, length, given) {
      const from = indexOf(given[1], length), end = endOf(given[2], length);
      for (let i = from; i < end; i++) source[i] = given[0];
      return source;
    },
    filter(source, length, given) {
      called(given[0]);
      const target = madeLike(source, 0);
      let at = 0;
      each(source, length, given[0], given[1], (found, value) => { if (found) add(target, at++, value); });
      return target;
    },
    forEach(source, length, given) { each(source, length, given[0], given[1], () => false); },
    includes(source, length, given) {
      const wanted = given[0];
      for (let i = length === 0 ? 0 : indexOf(given[1], length); i < length; i++) {
        const value = source[i];
        if (value === wanted || (value !== value && wanted !== wanted)) return true;
      }
      return false;
    },
    indexOf(source, length, given) {
      for (let i = length === 0 ? 0 : indexOf(given[1], length); i < length; i++)
        if (i in source && source[i] === given[0]) return i;
      return -1;
    },
    lastIndexOf(source, length, given) {
      if (length === 0) return -1;
      const from = given.length > 1 ? trunc(+given[1]) || 0 : length - 1;
      for (let i = from < 0 ? length + from : min(from, length - 1); i >= 0; i--)
        if (i in source && source[i] === given[0]) return i;
      return -1;
    },
    // Arrays inside come back here, and so to a place where V8 stops.
    join(source, length, given) {
      const between = given[0] === undefined ? "," : `${given[0]}`;
      if (between.length * (length - 1) > MOST_TEXT) throw new RangeErrorClass("Invalid string length");
      let text = "";
      for (let i = 0; i < length; i++) {
        const item = source[i];
        if (i > 0) text += between;
        if (item !== undefined && item !== null) text += `${item}`;
      }
      return text;
    },
    map(source, length, given) {
      called(given[0]);
      const target = madeLike(source, length);
      each(source, length, given[0], given[1], (made, value, i) => { add(target, i, made); });
      if (getPrototypeOf(target) === arrays && target.length < length) target.length = length;
      return target;
    },
    reduce: (source, length, given) => reduced(source, length, given, 0, 1),
    reduceRight: (source, length, given) => reduced(source, length, given, length - 1, -1),
    reverse(source, length) {
      for (let low = 0, high = length - 1; low < high; low++, high--) {
        const hasLow = low in source, lowest = hasLow ? source[low] : undefined;
        const hasHigh = high in source, highest = hasHigh ? source[high] : undefined;
        if (hasHigh) source[low] = highest;
        else if (hasLow) delete source[low];
        if (hasLow) source[high] = lowest;
        else if (hasHigh) delete source[high];
      }
      return source;
    },
    shift(source, length) {
      if (length === 0) {
        source.length = 0;
        return undefined;
      }
      const first = source[0];
      moveDown(source, 1, 0, length - 1);
      delete source[length - 1];
      source.length = length - 1;
      return first;
    },
    slice(source, length, given) {
      const from = indexOf(given[0], length), count = max(endOf(given[1], length) - from, 0);
      return copied(madeLike(source, count), source, from, count);
    },
    some: (source, length, given) => each(source, length, given[0], given[1], (found) => found),
    sort(source, length, given) {
      const items = sorted(source, length, given[0], false);
      for (let i = 0; i < items.length; i++) source[i] = items[i];
      for (let i = items.length; i < length; i++) if (i in source) delete source[i];
      return source;
    },
    splice(source, length, given) {
      const { start, added, removed, length: left } = spliced(length, given);
      refuseLength(left);
      const target = copied(madeLike(source, removed), source, start, removed);
      const rest = length - start - removed;
      if (added < removed) {
        moveDown(source, start + removed, start + added, rest);
        for (let i = length - 1; i >= left; i--) delete source[i];
      } else if (added > removed) moveUp(source, start + removed, start + added, rest);
      for (let i = 0; i < added; i++) source[start + i] = given[i + 2];
      source.length = left;
      return target;
    },
    toLocaleString(source, length, given) {
      let text = "";
      for (let i = 0; i < length; i++) {
        const item = source[i];
        if (i > 0) text += ",";
        if (item !== undefined && item !== null) text += item.toLocaleString(given[0], given[1]);
      }
      return text;
    },
    toReversed(source, length) {
      const target = sized(length);
      for (let i = 0; i < length; i++) add(target, i, source[length - 1 - i]);
      return target;
    },
    toSorted(source, length, given) {
      sized(length);
      return sorted(source, length, given[0], true);
    },
    toSpliced(source, length, given) {
      const { start, added, removed, length: left } = spliced(length, given);
      refuseLength(left);
      const target = sized(left);
      for (let i = 0; i < start; i++) add(target, i, source[i]);
      for (let i = 0; i < added; i++) add(target, start + i, given[i + 2]);
      for (let i = start + added; i < left; i++) add(target, i, source[i - added + removed]);
      return target;
    },
    unshift(source, length, given) {
      const count = given.length;
      if (count > 0) {
        refuseLength(length + count);
        moveUp(source, 0, count, length);
        for (let i = 0; i < count; i++) source[i] = given[i];
      }
      return source.length = length + count;
    },
    with(source, length, given) {
      const index = trunc(+given[0]) || 0, at = index < 0 ? length + index : index;
      if (at < 0 || at >= length) throw new RangeErrorClass("Invalid index : " + index);
      const target = sized(length);
      for (let i = 0; i < length; i++) add(target, i, i === at ? given[1] : source[i]);
      return target;
    },
  };
  const checked = { __proto__: null, sort: checkCompare, toSorted: checkCompare };
  // The parameters of each; of those that count what they are given, another form.
  const parameters = { __proto__: null, copyWithin: ", a, b, c", every: ", a, b", fill: ", a, b, c", filter: ", a, b",
    forEach: ", a, b", includes: ", a, b", indexOf: ", a, b", join: ", a", map: ", a, b", reverse: "", shift: "", slice: ", a, b",
    some: ", a, b", sort: ", a", toLocaleString: ", a, b", toReversed: "", toSorted: ", a", with: ", a, b" };
  // A method has a text of its own, fixed parameters and nothing but calls of constants: so V8 compiles
  // it, and the builtin with it, into the code that calls it, as it does with the builtin alone.
  function textOf(name) {
    const most = name === "toLocaleString" ? 1000 : MOST_NATIVE; // each item takes V8 long
    const list = parameters[name], fixed = list !== undefined, sorts = checked[name] !== undefined;
    const small = `isArray(this) && !isProxy(this) && this.length <= ${most}${sorts ? " && a !== undefined" : ""}`;
    const call = fixed ? `return native(this${list});` : `
      switch (arguments.length) {
        case 0: return native(this);
        case 1: return native(this, a);
        case 2: return native(this, a, b);
        case 3: return native(this, a, b, c);
        default: return apply(original, this, arguments);
      }`;
    const named = fixed ? list.slice(2) : "a, b, c";
    return `"use strict"; (isArray, isProxy, apply, original, native, guarded) => ({ ${name}(${named}) {
      if (${small}) { ${call} }
      return guarded(this, ${fixed ? `[${named}]` : "arguments"});
    } }).${name}
    //# sourceURL=interpstack:arrays`;
  }
  for (const name in builtins) {
    const original = arrays[name], builtin = builtins[name], check = checked[name];
    if (typeof original !== "function") continue;
    const guarded = (self, given) => {
      if (check !== undefined) {
        check(given[0]);
        if (isSmall(self)) return apply(original, self, [isHeavy(self) ? compareTexts : undefined]);
      }
      const source = owned(self, name);
      return builtin(source, lengthOf(source), given);
    };
    const method = evaluate(textOf(name))(isArray, isProxy, apply, original, uncurry(original), guarded);
    defineProperty(method, "length", { __proto__: null, value: original.length });
    put(arrays, name, method);
  }

  // -- those that are made otherwise --------------------------------------------------------

  // What V8 takes in one piece: values, and arrays of ordinary size.
  const isPlain = (value) => (typeof value !== "object" && typeof value !== "function") || value === null || isSmall(value);
  function isSpread(value) {
    if (typeof value !== "object" && typeof value !== "function" || value === null) return false;
    const spreadable = value[isConcatSpreadable];
    return spreadable === undefined ? isArray(value) : !!spreadable;
  }
  const nativeConcat = arrays.concat;
  const concat = { concat() {
    let plain = isSmall(this);
    for (let i = 0; plain && i < arguments.length; i++) plain = isPlain(arguments[i]);
    if (plain) return apply(nativeConcat, this, arguments);
    const source = owned(this, "concat"), target = madeLike(source, 0);
    let at = 0;
    for (let each = -1; each < arguments.length; each++) {
      const item = each < 0 ? source : arguments[each];
      if (!isSpread(item)) {
        refuseLength(at + 1);
        add(target, at++, item);
        continue;
      }
      const length = lengthOf(item);
      refuseLength(at + length);
      for (let i = 0; i < length; i++) if (i in item) add(target, at + i, item[i]);
      at += length;
    }
    target.length = at;
    return target;
  } }.concat;
  defineProperty(concat, "length", { __proto__: null, value: 1 });
  put(arrays, "concat", concat);

  function isMaker(value) {
    try {
      construct(ObjectFunction, [], value);
      return true;
    } catch {
      return false;
    }
  }
  const nativeFrom = Array.from;
  put(ArrayClass, "from", { from(items) {
    const callback = arguments[1], self = arguments[2];
    if (isPlain(items)) return apply(nativeFrom, this, arguments);
    if (callback !== undefined) called(callback);
    const iterate = items[iterator];
    if (iterate !== undefined && iterate !== null) {
      called(iterate);
      const once = { __proto__: null, [iterator]: () => apply(iterate, items, []) };
      return apply(nativeFrom, this, [once, callback, self]);
    }
    const length = lengthOf(items);
    const target = this !== ArrayClass && isMaker(this) ? construct(this, [length]) : sized(length);
    for (let i = 0; i < length; i++) add(target, i, callback === undefined ? items[i] : apply(callback, self, [items[i], i]));
    target.length = length;
    return target;
  } }.from);

  const { raw } = String;
  put(String, "raw", { raw(template) {
    if (isSmall(template?.raw)) return apply(raw, this, arguments);
    const parts = ObjectFunction(owned(template, "raw").raw), length = lengthOf(owned(parts, "raw"));
    let text = "";
    for (let i = 0; i < length; i++) {
      text += `${parts[i]}`;
      if (i + 1 < length && i + 1 < arguments.length) text += `${arguments[i + 1]}`;
    }
    return text;
  } }.raw);

  // -- lists of arguments -------------------------------------------------------------------

  const MOST_ARGUMENTS = 2 ** 17; // more than any stack has room for
  function listed(given) {
    if (isArray(given) && !isProxy(given) && given.length <= MOST_ARGUMENTS) return given;
    if (given === undefined || given === null || (typeof given !== "object" && typeof given !== "function")) return given;
    const length = lengthOf(given);
    if (length > MOST_ARGUMENTS) throw new RangeErrorClass("Maximum call stack size exceeded");
    const list = [];
    for (let i = 0; i < length; i++) add(list, i, given[i]);
    return list;
  }
  const methodApply = Function.prototype.apply;
  put(Function.prototype, "apply", { apply(self, given) { return apply(methodApply, this, [self, listed(given)]); } }.apply);
  put(Reflect, "apply", { apply(method, self, given) { return apply(method, self, listed(given)); } }.apply);
  const reflectConstruct = construct;
  put(Reflect, "construct", { construct(maker, given) {
    return arguments.length > 2 ? reflectConstruct(maker, listed(given), arguments[2]) : reflectConstruct(maker, listed(given));
  } }.construct);

  // -- flat ---------------------------------------------------------------------------------

  const isLong = (source) => isSmall(source) && source.length > 100; // the look below takes as long as some items
  // Whether an item that is put into a new array becomes its own, whatever its index.
  function isBare(target) {
    if (getPrototypeOf(target) !== arrays) return false;
    const first = ownKeys(arrays)[0]; // indices come first
    return first === "length" && getPrototypeOf(arrays) === objects && ownKeys(objects)[0] === "constructor";
  }
  function flatten(target, source, at, depth, bare, map) {
    const length = lengthOf(source);
    for (let i = 0; i < length; i++) {
      let value = source[i];
      if (value === undefined && !(i in source)) continue;
      if (map !== undefined) value = map(value, i, source);
      if (depth > 0 && isArray(value)) at = flatten(target, value, at, depth - 1, bare);
      else if (at >= MOST_ITEMS) throw tooMany();
      else if (bare) target[at++] = value;
      else add(target, at++, value);
    }
    return at;
  }
  put(arrays, "flat", { flat() {
    const source = owned(this, "flat"), given = arguments[0];
    const depth = given === undefined ? 1 : trunc(+given) || 0;
    const target = madeLike(source, 0);
    flatten(target, source, 0, depth, isLong(source) && isBare(target));
    return target;
  } }.flat);
  put(arrays, "flatMap", { flatMap(callback) {
    const source = owned(this, "flatMap"), self = arguments[1];
    if (typeof callback !== "function") throw new TypeErrorClass("flatMap mapper function is not callable");
    const target = madeLike(source, 0);
    const map = self === undefined ? callback : (value, at) => apply(callback, self, [value, at, source]);
    flatten(target, source, 0, 1, isLong(source) && isBare(target), map);
    return target;
  } }.flatMap);
}
