// Mends builtins of QuickJS that fail in a way no code, and no host, can handle.
//
// Runs after the kernel and takes it, before any guest.
(kernel) => {
  "use strict";
  const { apply, construct, defineProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys, setPrototypeOf } = Reflect;
  const { reject, guestFrame, findFaultsBy, runningText } = kernel;
  const ErrorClass = Error, InternalErrorClass = InternalError, RangeErrorClass = RangeError;
  const replace = (owner, method) => {
    defineProperty(owner, method.name,
      { __proto__: null, value: method, writable: true, enumerable: false, configurable: true });
  };

  // An error of a callback of its own ends nowhere; the web API's reports it.
  delete globalThis.queueMicrotask;

  // Where memory ends inside, QuickJS throws without saying what: code that catches it holds a value
  // of no type, which stops or deadlocks whatever touches it. The memory that was taken is lost,
  // too, until the host puts the guest back to before the cell. So the cell ends with that error,
  // whether code catches it or not.
  const normalized = String.prototype.normalize;
  replace(String.prototype, {
    normalize() {
      try {
        return apply(normalized, this, arguments);
      } catch (error) {
        if (typeof error !== "unknown") throw error;
        const failure = new InternalErrorClass("out of memory");
        reject(failure);
        throw failure;
      }
    },
  }.normalize);

  // QuickJS cuts the length to 32 bits where it takes the memory, but not where it notes the length:
  // the new buffer reaches beyond its memory. What it cannot take at all, it does not tell either.
  const MOST = 2147483647;
  const bounded = (original, context, given) => {
    if (given.length === 0 || given[0] === undefined) return apply(original, context, []);
    const length = +given[0];
    if (length > MOST) throw new RangeErrorClass("invalid array buffer length");
    return apply(original, context, [length]);
  };
  const { transfer: moved, transferToFixedLength: fixed } = ArrayBuffer.prototype;
  const { transfer, transferToFixedLength } = {
    transfer() { return bounded(moved, this, arguments); },
    transferToFixedLength() { return bounded(fixed, this, arguments); },
  };
  replace(ArrayBuffer.prototype, transfer);
  replace(ArrayBuffer.prototype, transferToFixedLength);

  // QuickJS takes the last of 32, 64, 96, … bits for a sign here, and answers below 0.
  const BigIntFunction = BigInt, { trunc } = Math, { asIntN } = BigInt;
  replace(BigInt, {
    asUintN(bits, bigint) {
      const width = trunc(+bits) || 0, signed = apply(asIntN, BigIntFunction, [width, bigint]);
      return signed < 0n ? signed + (1n << BigIntFunction(width)) : signed;
    },
  }.asUintN);

  // For a part that is no number, QuickJS answers NaN as the language says, but keeps the date as it was.
  // A date that is invalid already gets no time, but what the conversion of the parts has set.
  const ofDates = Date.prototype, { getTime, setTime } = ofDates;
  const PARTS = ["Milliseconds", "Seconds", "Minutes", "Hours", "Date", "Month", "FullYear"];
  for (const part of PARTS) for (const zone of ["set", "setUTC"]) {
    const name = zone + part, original = ofDates[name];
    const method = { [name](...given) {
      const before = apply(getTime, this, []), time = apply(original, this, given);
      return time === time || (before !== before && part !== "FullYear") ? time : apply(setTime, this, [NaN]);
    } }[name];
    defineProperty(method, "length", { __proto__: null, value: original.length, configurable: true });
    replace(ofDates, method);
  }

  // Where an iterator has no `return`, as those of arrays, maps and sets have none, QuickJS calls it all
  // the same when `map`, `filter` and their like end early, and throws.
  const { prototype: ofIterators } = Iterator, isObject = (value) => Object(value) === value;
  const closable = (iterator) => {
    if (!isObject(iterator) || (iterator.return !== undefined && iterator.return !== null)) return iterator;
    const { next } = iterator;
    return {
      __proto__: null,
      next() { return apply(next, iterator, []); },
      return() {
        const close = iterator.return;
        return close === undefined || close === null ? { value: undefined, done: true } : apply(close, iterator, []);
      },
    };
  };
  for (const name of ["drop", "filter", "flatMap", "map", "take"]) {
    const original = ofIterators[name];
    replace(ofIterators, { [name](given) { return apply(original, closable(this), [given]); } }[name]);
  }

  // Without `Intl`, QuickJS takes no notice of locales and of what is asked for beside them, such as a
  // time zone: an answer for another place is wrong, and nobody would see it.
  const { isArray } = Array, TypeErrorClass = TypeError;
  const ADVICE = "QuickJS has no Intl: leave locales and options out, write the format in code, add the plugin intl to the stack, or use an engine that has Intl (v8, node)";
  const isGiven = (value) => value !== undefined && !(isArray(value) && value.length === 0);
  // `before`: arguments in front of the locales.
  const refuseLocales = (owner, names, before) => {
    for (const name of names) {
      const original = owner[name];
      const method = { [name](...given) {
        for (let i = before; i < given.length; i++)
          if (isGiven(given[i])) throw new TypeErrorClass(name + ": locales and options have no effect here. " + ADVICE);
        return apply(original, this, given);
      } }[name];
      defineProperty(method, "length", { __proto__: null, value: original.length, configurable: true });
      replace(owner, method);
    }
  };
  const once = ["toLocaleString"];
  refuseLocales(Number.prototype, once, 0);
  refuseLocales(BigInt.prototype, once, 0);
  refuseLocales(Array.prototype, once, 0);
  refuseLocales(getPrototypeOf(Uint8Array.prototype), once, 0);
  refuseLocales(Date.prototype, ["toLocaleString", "toLocaleDateString", "toLocaleTimeString"], 0);
  refuseLocales(String.prototype, ["toLocaleUpperCase", "toLocaleLowerCase"], 0);
  refuseLocales(String.prototype, ["localeCompare"], 1);

  // Stack traces begin with the error, as in other engines, and have the frames and places that rendered
  // errors have. QuickJS calls this for each error; the kernel takes the property away from guests.
  const dataOf = (error, key) => { // no getter runs
    for (let at = error, level = 0; at !== null && level < 8; at = getPrototypeOf(at), level++) {
      const found = getOwnPropertyDescriptor(at, key);
      if (found !== undefined) return typeof found.value === "string" ? found.value : "";
    }
    return "";
  };
  const uncurry = Function.prototype.bind.bind(Function.prototype.call);
  const prepare = getOwnPropertyDescriptor(ErrorClass, "prepareStackTrace");
  apply(prepare.set, ErrorClass, [(error, frames) => frames]);
  const site = getPrototypeOf(new ErrorClass().stack[0]);
  const isNative = uncurry(site.isNative), fileOf = uncurry(site.getFileName), nameOf = uncurry(site.getFunctionName);
  const functionOf = uncurry(site.getFunction);
  const lineNumberOf = uncurry(getOwnPropertyDescriptor(Function.prototype, "lineNumber").get);
  const columnNumberOf = uncurry(getOwnPropertyDescriptor(Function.prototype, "columnNumber").get);
  const toText = uncurry(Function.prototype.toString), slice = uncurry(String.prototype.slice);
  const indexOf = uncurry(String.prototype.indexOf);
  const charCode = uncurry(String.prototype.charCodeAt);
  const lineOf = uncurry(site.getLineNumber), columnOf = uncurry(site.getColumnNumber);
  const KERNEL = "interpstack:kernel", CELL = "<input>";
  // The top frame of a text that does not parse is in no function. If the kernel called `eval` for it,
  // the text is a cell's.
  let faulty, fault;
  findFaultsBy((error) => {
    const place = error === faulty ? fault : undefined;
    faulty = fault = undefined;
    return place;
  });
  const noteFault = (error, frames) => {
    if (frames.length < 3 || typeof functionOf(frames[0]) === "function") return;
    if (!isNative(frames[1]) || nameOf(frames[1]) !== "eval" || fileOf(frames[2]) !== KERNEL) return;
    faulty = error, fault = "[" + lineOf(frames[0]) + "," + columnOf(frames[0]) + "]";
  };

  // QuickJS records a place for calls, operators and some statements, but none where a name or a property
  // is read: the error would name the last place before, in many functions their first line. Its message
  // has the name. Where that is read once in the function behind the recorded place, it is read there; if
  // it is read several times, the column or the whole place is left out.
  // Beginnings and ends of messages around a property, and around a name.
  const PROPERTY = [["cannot read property '", "' of undefined"], ["cannot read property '", "' of null"],
    ["cannot set property '", "' of undefined"], ["cannot set property '", "' of null"],
    ["private class field '", "' does not exist"]];
  const NAME = [["", " is not defined"], ["Cannot access '", "' before initialization"],
    ["", " is not initialized"], ["Assignment to constant variable '", "'"], ["'", "' is read-only"]];
  const MOST_CHARS = 100000; // of a function that is looked through
  // Messages without a name; their place may be any.
  const NAMELESS = ["Cannot convert undefined or null to object", "value is not iterable", "parent class must be constructor"];
  const between = (message, begin, end) => message.length > begin.length + end.length
    && slice(message, 0, begin.length) === begin && slice(message, message.length - end.length) === end
    ? slice(message, begin.length, message.length - end.length) : "";
  const among = (message, forms) => {
    for (let i = 0; i < forms.length; i++) {
      const found = between(message, forms[i][0], forms[i][1]);
      if (found !== "") return found;
    }
    return "";
  };
  const isWord = (code) => code >= 128 || code === 36 || code === 95 || (code >= 48 && code <= 57)
    || (code >= 65 && code <= 90) || (code >= 97 && code <= 122); // NaN beyond the ends is none
  const isSpace = (code) => code === 32 || (code >= 9 && code <= 13);
  // Whether the word at `at` is the name in `.name`, `?.name` or `["name"]`.
  const isRead = (text, at, length) => {
    let i = at - 1;
    const before = charCode(text, i);
    if ((before === 34 || before === 39) && charCode(text, at + length) === before)
      return charCode(text, i - 1) === 91 && charCode(text, at + length + 1) === 93;
    while (i >= 0 && isSpace(charCode(text, i))) i--;
    return charCode(text, i) === 46 && charCode(text, i - 1) !== 46;
  };
  // Whether the word at `at` is a name that is not declared there.
  const isUsed = (text, at) => {
    let end = at - 1;
    while (end >= 0 && isSpace(charCode(text, end))) end--;
    if (charCode(text, end) === 46) return charCode(text, end - 1) === 46; // `...name`
    let start = end;
    while (start >= 0 && isWord(charCode(text, start))) start--;
    const word = slice(text, start + 1, end + 1);
    return word !== "let" && word !== "const" && word !== "class" && word !== "function";
  };
  // The bytes of UTF-8 in a part of a text, as QuickJS counts columns.
  const bytesIn = (text, from, to) => {
    let count = 0;
    for (let i = from; i < to; i++) {
      const code = charCode(text, i);
      count += code < 128 ? 1 : code < 2048 ? 2 : code >= 55296 && code <= 56319 && i + 1 < to ? (i++, 4) : 3;
    }
    return count;
  };
  // Where code may run in another order than it is written in: the last part of a `for (;;)`.
  const hasLoop = (text) => {
    for (let at = indexOf(text, "for", 0); at >= 0; at = indexOf(text, "for", at + 3)) {
      if (isWord(charCode(text, at - 1)) || isWord(charCode(text, at + 3))) continue;
      const open = indexOf(text, "(", at), end = indexOf(text, "{", at), part = indexOf(text, ";", open);
      if (open >= 0 && part >= 0 && (end < 0 || part < end)) return true;
    }
    return false;
  };
  // QuickJS has one name for the texts of cells and for those that code evaluates. The latter are known by
  // their outermost frame: one that the kernel did not evaluate, or a function that `Function` wrote.
  const EVALUATED = "<evaluated>";
  const isEvaluated = (frames, at) => {
    const frame = frames[at], made = functionOf(frame);
    if (fileOf(frame) !== CELL) return false;
    if (typeof made !== "function" || nameOf(frame) === "<eval>") return !isOwn(frames, at);
    if (nameOf(frame) !== "anonymous") return false;
    const text = toText(made), begin = indexOf(text, "anonymous(", 0);
    return begin >= 0 && begin <= 16 && indexOf(text, "\n) {\n", begin) >= 0;
  };
  // Whether a frame is of a text, and the trace is too short to say whose: what has called it is cut off.
  const isCutOff = (frames, at) => at > 0 && at + 2 >= frames.length && nameOf(frames[at]) === "<eval>"
    && fileOf(frames[at]) === CELL && typeof functionOf(frames[at]) === "function";
  // Whether a frame is of a text that `JSON.parse` refused; the message has the place.
  const isData = (frames, at) => typeof functionOf(frames[at]) !== "function" && frames.length > at + 1
    && isNative(frames[at + 1]) && nameOf(frames[at + 1]) === "parse";
  const isOwn = (frames, at) => frames.length > at + 2 && isNative(frames[at + 1])
    && nameOf(frames[at + 1]) === "eval" && fileOf(frames[at + 2]) === KERNEL;
  // [line, column], [line, 0] or [0, 0], as QuickJS counts; undefined for what is no such error.
  const placeOfRead = (name, message, frames, at) => {
    if ((name !== "TypeError" && name !== "ReferenceError") || at >= frames.length || isNative(frames[at])) return undefined;
    const frame = frames[at], made = functionOf(frame);
    if (typeof made !== "function") return undefined;
    for (let i = 0; i < NAMELESS.length; i++) if (message === NAMELESS[i]) return [0, 0];
    const property = among(message, PROPERTY), key = property || among(message, NAME);
    if (key === "") return undefined;
    let text = toText(made), line = 1, column = 0;
    if (nameOf(frame) === "<eval>") {
      if (!isOwn(frames, at)) return [0, 0]; // a text that code has evaluated
      text = runningText();
    } else {
      line = lineNumberOf(made);
      column = columnNumberOf(made);
    }
    if (slice(text, 0, 5) === "class" || text.length > MOST_CHARS) return [0, 0]; // not the text of its constructor
    const after = !hasLoop(text), recordedLine = lineOf(frame), recordedColumn = columnOf(frame);
    let found = 0, foundLine = 0, foundColumn = 0, sameLine = true, counted = 0, from = 0;
    for (let word = indexOf(text, key, 0); word >= 0; word = indexOf(text, key, word + key.length)) {
      if (isWord(charCode(text, word - 1)) || isWord(charCode(text, word + key.length))) continue;
      for (let end = indexOf(text, "\n", from); end >= 0 && end < word; end = indexOf(text, "\n", from)) {
        line++;
        column = 1;
        from = counted = end + 1;
      }
      column += bytesIn(text, counted, word);
      counted = word;
      if (after && (line < recordedLine || (line === recordedLine && column < recordedColumn))) continue;
      if (property === "") {
        if (at === 0 && !isUsed(text, word)) continue; // preparation writes guarded variables in other forms
      } else if (!isRead(text, word, key.length)) return [0, 0];
      if (++found > 1 && line !== foundLine) sameLine = false;
      if (found > 100) return [0, 0];
      foundLine = line;
      foundColumn = column;
    }
    if (found === 0 && fileOf(frame) !== "<input>") return undefined; // a module, whose text is not known
    if (found === 1) return [foundLine, foundColumn];
    return found > 1 && sameLine ? [foundLine, 0] : [0, 0];
  };
  const OF_DATA = ", in the text that JSON.parse got"; // or it reads as a fault of the code
  const writeTrace = (error, frames) => {
    let text = "", read, top = 0;
    noteFault(error, frames);
    while (top < frames.length && fileOf(frames[top]) === KERNEL) top++; // of a variable that the kernel guards
    try {
      const name = dataOf(error, "name") || "Error", said = dataOf(error, "message");
      const message = isData(frames, 0) ? said + OF_DATA : said;
      if (message !== said) defineProperty(error, "message", { __proto__: null, value: message });
      text = message === "" ? name : name + ": " + message;
      read = placeOfRead(name, message, frames, top);
    } catch { /* a proxy keeps it to itself */ }
    for (let i = 0; i < frames.length; i++) {
      const frame = frames[i];
      if (isNative(frame) || isData(frames, i) || isCutOff(frames, i)) continue;
      const found = i === top && read !== undefined;
      const line = found ? read[0] : lineOf(frame), column = found ? read[1] : columnOf(frame);
      const evaluated = isEvaluated(frames, i);
      const place = (evaluated ? EVALUATED : fileOf(frame)) + (line > 0 ? ":" + line : "") + (column > 0 ? ":" + column : "");
      const inside = typeof functionOf(frame) === "function"; // a text that does not parse is in none
      const shown = guestFrame("    at " + (inside ? (evaluated && nameOf(frame) === "<eval>" ? "eval" : nameOf(frame) || "<anonymous>") + " (" + place + ")" : place));
      if (shown !== undefined) text += "\n" + shown;
    }
    return text;
  };
  apply(prepare.set, ErrorClass, [writeTrace]);
  defineProperty(ErrorClass, "prepareStackTrace",
    { __proto__: null, get() { return undefined; }, set() {}, enumerable: false, configurable: false });

  // QuickJS turns the limit into a number whenever it makes an error, also one of the kernel's, and a
  // limit that is an object runs code of the guest for that.
  const limit = getOwnPropertyDescriptor(ErrorClass, "stackTraceLimit");
  if (limit?.set !== undefined) {
    defineProperty(ErrorClass, "stackTraceLimit", {
      __proto__: null, enumerable: limit.enumerable, configurable: true, get: limit.get,
      set(value) { if (typeof value === "number") apply(limit.set, ErrorClass, [value]); },
    });
  }

  // QuickJS accepts the flag `v`, and reads the pattern as if it had neither `v` nor `u`. Literals with
  // it are refused before code runs; those that code constructs are refused here.
  const RegExpClass = RegExp, SyntaxErrorClass = SyntaxError, regexpPrototype = RegExp.prototype, { match } = Symbol;
  const hasSets = uncurry(getOwnPropertyDescriptor(regexpPrototype, "unicodeSets").get);
  const NO_SETS = "QuickJS does not have the flag v of regular expressions. Use the flag u; write sets and emoji out, or use an engine that has the flag (v8, node)";
  const refuseSets = () => { throw new SyntaxErrorClass(NO_SETS); };
  const constructed = (() => function RegExp(pattern, flags) {
    if (new.target === undefined && flags === undefined && isObject(pattern) && pattern[match]
      && pattern.constructor === constructed) return pattern;
    if (typeof flags === "string" && indexOf(flags, "v") >= 0) refuseSets();
    const made = construct(RegExpClass, [pattern, flags], new.target || constructed);
    if (hasSets(made)) refuseSets();
    return made;
  })();
  for (const key of ownKeys(RegExpClass))
    if (key !== "name" && key !== "length" && key !== "prototype")
      defineProperty(constructed, key, getOwnPropertyDescriptor(RegExpClass, key));
  defineProperty(constructed, "prototype", { __proto__: null, value: regexpPrototype, writable: false });
  replace(globalThis, constructed);
  defineProperty(regexpPrototype, "constructor",
    { __proto__: null, value: constructed, writable: true, enumerable: false, configurable: true });

  // Rejected promises that no code handles yet, each before its reason, and last whether there were any. QuickJS
  // has them written here; see `heap/rejections.py`, which finds the list by its numbers.
  const ROOM = 512, FIRST_NUMBER = 1492590337;
  const rejections = [];
  setPrototypeOf(rejections, null);
  for (let i = 0; i <= ROOM; i++) rejections[i] = FIRST_NUMBER + i;
  const forget = () => {
    if (rejections[ROOM] !== 0) for (let i = 0; i <= ROOM; i++) rejections[i] = 0;
  };
  const reasons = () => {
    const found = { __proto__: null, length: 0 };
    if (rejections[ROOM] !== 0)
      for (let i = 0; i < ROOM; i += 2) if (rejections[i] !== 0) found[found.length++] = rejections[i + 1];
    return found;
  };
  const leave = (reason) => {
    for (let i = 0; i < ROOM; i += 2)
      if (rejections[i] !== 0 && rejections[i + 1] === reason) rejections[i] = rejections[i + 1] = 0;
  };
  return () => {
    forget();
    kernel.trackRejectionsBy({ __proto__: null, forget, reasons, leave });
  };
}
