// setTimeout and friends over kernel.timer / kernel.clearTimer.
export function createTimers(kernel, report) {
  const { apply } = Reflect;
  const { create, defineProperty } = Object;
  const global = globalThis;
  const PromiseThen = Promise.prototype.then;

  // Our id -> the kernel's id. No prototype: immune to whatever the guest does to Object.prototype.
  const armed = create(null);
  let lastId = 0;

  function run(callback, args) {
    try {
      apply(callback, global, args);
    } catch (error) {
      report(error);
    }
  }

  function checked(callback, name) {
    if (typeof callback !== "function") throw new TypeError(`${name}: the callback must be a function`);
    return callback;
  }

  // Web IDL "long", negative values are 0.
  function milliseconds(delay) {
    const ms = +delay | 0;
    return ms > 0 ? ms : 0;
  }

  function arm(id, ms, callback, args, repeat) {
    armed[id] = kernel.timer(ms, () => {
      if (!(id in armed)) return;
      if (!repeat) {
        delete armed[id];
        run(callback, args);
        return;
      }
      run(callback, args);
      // The callback may have cleared the interval.
      if (!(id in armed)) return;
      try {
        arm(id, ms, callback, args, true);
      } catch (error) {
        delete armed[id];
        report(error);
      }
    });
  }

  function setTimeout(callback, delay = 0, ...args) {
    checked(callback, "setTimeout");
    const ms = milliseconds(delay);
    const id = ++lastId;
    arm(id, ms, callback, args, false);
    return id;
  }

  function setInterval(callback, delay = 0, ...args) {
    checked(callback, "setInterval");
    const ms = milliseconds(delay) || 1;
    const id = ++lastId;
    arm(id, ms, callback, args, true);
    return id;
  }

  function clear(id) {
    id = +id | 0;
    if (!(id in armed)) return;
    const kernelId = armed[id];
    delete armed[id];
    kernel.clearTimer(kernelId);
  }

  function clearTimeout(id = 0) {
    clear(id);
  }

  function clearInterval(id = 0) {
    clear(id);
  }

  // A promise whose "then" does not look at Promise.prototype.constructor.
  const settled = Promise.resolve();
  defineProperty(settled, "constructor", { value: undefined });

  function queueMicrotask(callback) {
    checked(callback, "queueMicrotask");
    apply(PromiseThen, settled, [() => run(callback, [])]);
  }

  return { globals: { setTimeout, setInterval, clearTimeout, clearInterval }, queueMicrotask };
}
