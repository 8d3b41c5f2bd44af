  function settleOne(number, failed, body) {
    const id = number + before;
    const entry = pending[id];
    if (entry === undefined) return;
    delete pending[id];
    if (entry.callback !== undefined) {
      openTimers--;
      if (!active) return; // timers end with their cell
      try { entry.callback(); } catch (error) { attempt(report, error); }
    } else if (failed) {
      entry.reject(makeError(entry.site, body.name, body.message, body.data));
    } else {
      fulfil(entry.resolve, body);
    }
  }
  function fulfil(resolve, value) {
    const inherits = typeof value === "object" && value !== null && getPrototypeOf(value) !== objectPrototype;
    // A `then` that the guest gave to all arrays, for example, must not take the answer over.
    if (inherits) define(value, "then", undefined);
    resolve(value);
    if (inherits) deleteProperty(value, "then");
  }

