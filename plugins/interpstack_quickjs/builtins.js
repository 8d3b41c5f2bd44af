// Mends a builtin of QuickJS that fails in a way no code can handle.
//
// Runs after the kernel and takes it. Where memory ends inside `normalize`, QuickJS throws without
// saying what: code that catches it holds a value of no type, which stops or deadlocks whatever
// touches it. The memory that `normalize` had taken is lost, too, until the host puts the guest
// back to before the cell. So the cell ends with that error, whether code catches it or not.
(kernel) => {
  "use strict";
  const { apply, defineProperty } = Reflect;
  const { reject } = kernel;
  const InternalErrorClass = InternalError;
  const original = String.prototype.normalize;
  const { normalize } = {
    normalize() {
      try {
        return apply(original, this, arguments);
      } catch (error) {
        if (typeof error !== "unknown") throw error;
        const told = new InternalErrorClass("out of memory");
        reject(told);
        throw told;
      }
    },
  };
  defineProperty(String.prototype, "normalize",
    { __proto__: null, value: normalize, writable: true, enumerable: false, configurable: true });
}
