// Mends builtins of QuickJS that fail in a way no code, and no host, can handle.
//
// Runs after the kernel and takes it, before any guest.
(kernel) => {
  "use strict";
  const { apply, defineProperty, getOwnPropertyDescriptor, getPrototypeOf } = Reflect;
  const { reject, guestFrame, findFaultsBy } = kernel;
  const ErrorClass = Error, InternalErrorClass = InternalError, RangeErrorClass = RangeError;
  const replace = (owner, method) => {
    defineProperty(owner, method.name,
      { __proto__: null, value: method, writable: true, enumerable: false, configurable: true });
  };

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
        const told = new InternalErrorClass("out of memory");
        reject(told);
        throw told;
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

  // Without `Intl`, QuickJS takes no notice of locales and of what is asked for beside them, such as a
  // time zone: an answer for another place is wrong, and nobody would see it.
  const { isArray } = Array, TypeErrorClass = TypeError;
  const ADVICE = "QuickJS has no Intl: leave locales and options out, write the format in code, or use an engine that has Intl (v8, node)";
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
  const lineOf = uncurry(site.getLineNumber), columnOf = uncurry(site.getColumnNumber);
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
    if (!isNative(frames[1]) || nameOf(frames[1]) !== "eval" || fileOf(frames[2]) !== "interpstack:kernel") return;
    faulty = error, fault = "[" + lineOf(frames[0]) + "," + columnOf(frames[0]) + "]";
  };
  const writeTrace = (error, frames) => {
    let text = "";
    noteFault(error, frames);
    try {
      const name = dataOf(error, "name") || "Error", message = dataOf(error, "message");
      text = message === "" ? name : name + ": " + message;
    } catch { /* a proxy keeps it to itself */ }
    for (let i = 0; i < frames.length; i++) {
      const frame = frames[i];
      if (isNative(frame)) continue;
      const place = fileOf(frame) + ":" + lineOf(frame) + ":" + columnOf(frame);
      const inside = typeof functionOf(frame) === "function"; // a text that does not parse is in none
      const told = guestFrame("    at " + (inside ? (nameOf(frame) || "<anonymous>") + " (" + place + ")" : place));
      if (told !== undefined) text += "\n" + told;
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
}
