  // -- promises that were rejected, and that no code handles ----------------------------------

  // An engine tracks them (`unhandled`), or nothing can: then those of failed calls are known at least.
  // Whatever handles a promise (`await`, `then`, `Promise.all`) reads its `constructor` first, and so takes
  // away the one of its own that it was given.
  const mostRejected = 100; // in one report
  let failures = list(), reported = list(); // calls that failed; errors that the host reports itself
  function beginRejections() {
    if (failures.length !== 0) failures = list();
    if (reported.length !== 0) reported = list();
    if (unhandled !== undefined) unhandled.forget();
  }
  const unread = {
    __proto__: null, enumerable: false, configurable: true,
    get() { return deleteProperty(this, "constructor") ? this.constructor : PromiseClass; },
    set(value) { define(this, "constructor", value, true); },
  };
  function tracked(promise) {
    if (unhandled === undefined) defineProperty(promise, "constructor", unread);
    return promise;
  }
  // The promise of a call that failed before the host heard of it.
  function failed(promise, error) {
    noteFailure(tracked(promise), error);
    return promise;
  }
  function isUnread(promise) {
    const found = getOwnPropertyDescriptor(promise, "constructor");
    return found !== undefined && found.get === unread.get;
  }
  function noteFailure(promise, error) {
    if (unhandled !== undefined) return;
    if (failures.length >= mostRejected) forgetHandled();
    if (failures.length < mostRejected) failures[failures.length] = { __proto__: null, promise, error };
  }
  function forgetHandled() {
    const left = list();
    for (let i = 0; i < failures.length; i++) if (isUnread(failures[i].promise)) left[left.length] = failures[i];
    failures = left;
  }
  function unhandledReasons() {
    if (unhandled !== undefined) return unhandled.reasons();
    const found = list();
    forgetHandled();
    for (let i = 0; i < failures.length; i++) found[i] = failures[i].error;
    return found;
  }
  function isReported(reason) {
    for (let i = 0; i < reported.length; i++) if (reported[i] === reason) return true;
    return false;
  }
  // JSON texts of the reasons, once the cell has ended.
  function rejectedTexts() {
    if (active || !accepting || (unhandled === undefined && failures.length === 0)) return "";
    const reasons = unhandledReasons(), texts = list();
    for (let i = 0; i < reasons.length && texts.length < mostRejected; i++) {
      if (isReported(reasons[i])) continue;
      texts[texts.length] = stringify(slice(attempt(thrownLine, reasons[i]) ?? "an error that cannot be read", 0, 300));
    }
    return join(texts, ",");
  }

