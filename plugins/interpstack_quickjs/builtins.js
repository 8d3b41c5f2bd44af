// Mends builtins of QuickJS that fail in a way no code, and no host, can handle.
//
// Runs after the kernel and takes it, before any guest.
(kernel) => {
  "use strict";
  const { apply, defineProperty, getOwnPropertyDescriptor } = Reflect;
  const { reject, findFaultsBy } = kernel;
  const ErrorClass = Error, InternalErrorClass = InternalError, RangeErrorClass = RangeError;
  const replace = (owner, method) => {
    defineProperty(owner, method.name,
      { __proto__: null, value: method, writable: true, enumerable: false, configurable: true });
  };

  // The top frame of a syntax error that keeps a cell from being run has no name, and the kernel is
  // what called `eval`. QuickJS calls every text "<input>".
  const own = /^ {4}at <input>:(\d{1,9}):(\d{1,9})\n {4}at eval \(native\)\n {4}at \w+ \(interpstack:kernel:/;
  const syntax = SyntaxError.prototype, { getPrototypeOf } = Reflect;
  const match = Function.prototype.call.bind(RegExp.prototype.exec);
  findFaultsBy((error) => {
    if (getPrototypeOf(error) !== syntax) return undefined;
    const stack = getOwnPropertyDescriptor(error, "stack")?.value;
    const found = typeof stack === "string" ? match(own, stack) : null;
    return found === null ? undefined : "[" + found[1] + "," + found[2] + "]";
  });

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
