  // -- answers: each is a task of its own -----------------------------------------------------

  // The host passes several at once, and the guest's jobs run between two of them, as if each had come
  // alone: a timer that such a job clears never fires. The engine runs the jobs; see `next`.
  let answers = list(), answered = 0, areTagged = false;
  let areLate = false; // they came after the end of the cell: the host reports those that failed
  function takeAnswers(given, marked) {
    const places = list(), timers = list(); // those of timers, in the order in which they are due
    answers = list();
    answered = 0;
    areTagged = marked;
    areLate = !active;
    for (let i = 0; i < given.length; i++) {
      const answer = answers[i] = given[i], entry = pending[answer[0] + before];
      if (entry === undefined || entry.callback === undefined) continue;
      places[places.length] = i;
      let at = timers.length;
      const { due } = entry, id = answer[0];
      for (; at > 0 && (timers[at - 1].due > due || timers[at - 1].due === due && timers[at - 1].id > id); at--)
        timers[at] = timers[at - 1];
      timers[at] = { __proto__: null, answer, due, id };
    }
    for (let i = 0; i < places.length; i++) answers[places[i]] = timers[i].answer;
    answers = dueAtOnceFirst(answers);
  }
  // A timer without a length was due when it was set, before any of these answers came. Behind one that
  // ends the cell it would be lost.
  function dueAtOnceFirst(given) {
    const first = list(), rest = list();
    for (let i = 0; i < given.length; i++) {
      const part = pending[given[i][0] + before]?.isDue === true ? first : rest;
      part[part.length] = given[i];
    }
    for (let i = 0; i < rest.length; i++) first[first.length] = rest[i];
    return first;
  }
  // Settle the next answer; false if there is none.
  function settleNext() {
    if (answered >= answers.length) return false;
    const answer = answers[answered++];
    settleOne(answer[0], answer[1], areTagged ? revive(answer[2]) : answer[2]);
    return true;
  }
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
      const error = makeError(entry.site, body.name, body.message, body.data);
      weakSetAdd(callErrors, error);
      if (areLate) reported[reported.length] = error;
      entry.reject(error);
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

