  // -- promises that were rejected, and that no code handles ----------------------------------

  const mostRejected = 100; // in one report
  let reported = list(); // errors that the host reports itself
  let unheard = 0; // of these, since the last drain, those that no code handles
  function beginRejections() {
    if (reported.length !== 0) reported = list();
    if (unhandled !== undefined) unhandled.forget();
  }
  function isReported(reason) {
    for (let i = 0; i < reported.length; i++) if (reported[i] === reason) return true;
    return false;
  }
  // JSON texts of the reasons, once the cell has ended.
  function rejectedTexts() {
    if (active || !accepting || unhandled === undefined) return "";
    const reasons = unhandled.reasons(), texts = list();
    for (let i = 0; i < reasons.length && texts.length < mostRejected; i++) {
      if (isReported(reasons[i])) {
        unheard++;
        continue;
      }
      texts[texts.length] = stringify(slice(attempt(placedLine, reasons[i]) ?? "an error that cannot be read", 0, 300));
    }
    if (reasons.length !== 0) unhandled.forget(); // each is reported once, and kept no longer
    return join(texts, ",");
  }
  // An error with the place where it was thrown, which nobody else shows.
  function placedLine(reason) {
    const line = thrownLine(reason), stack = isError(reason) ? describe(reason).stack : "";
    const start = indexOf(stack, "at "), end = indexOf(stack, "\n");
    if (start < 0 || (end >= 0 && end < start)) return line;
    return line + ", " + trimEnd(slice(stack, start, end < 0 ? stack.length : end));
  }
  // `null` where the engine cannot tell.
  function takeUnheard() {
    if (active || unhandled === undefined) return "null";
    const count = unheard;
    unheard = 0;
    return "" + count;
  }
