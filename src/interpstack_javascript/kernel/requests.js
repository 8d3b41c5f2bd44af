  // -- requests ----------------------------------------------------------------------------

  function open(quoted, text) {
    ids[requests.length] = ++lastId;
    requests[requests.length] = quoted + "," + text + "]";
    return lastId;
  }
  // `written`: the input is JSON text already, made by a guest source of values that are no guest's.
  function request(name, input, quoted = stringify(name), counts = true, written = false) {
    return promiseOfCall(name, (resolve, reject) => {
      try {
        const text = inputText(name, input, counts, written), site = new ErrorClass();
        pending[open(quoted, text)] = { __proto__: null, resolve, reject, site };
      } catch (thrown) {
        reject(thrown);
      }
    });
  }
  function inputText(name, input, counts, written) {
    if (!active) throw new ErrorClass(name + " was called after its cell had ended; await it inside the cell");
    // The host counts and refuses; what is far beyond the limit need not trouble it.
    if (!counts && ++uncounted > 10000) throw new RangeErrorClass(name + ": a cell may make at most 10000 such calls");
    if (counts && limits.requests !== null && ++requested > limits.requests + 64)
      throw makeError(new ErrorClass(), limits.tooMany, limits.tooManyText, { __proto__: null, tool: name });
    if (!written) return encodeValue(input);
    if (input.length > limits.valueChars) tooLarge();
    return input;
  }
  function call(name, input) {
    if (active) callLate(name, input);
  }
  // A call from code that still runs while the host waits for requests that the ended cell left open.
  function callLate(name, input) {
    if (!accepting) return;
    if (++called > 10000) throw new RangeErrorClass(name + ": a cell may make at most 10000 calls without an answer");
    const text = encodeValue(input); // a getter in it may make calls, too
    calls[calls.length] = "[" + stringify(name) + "," + text + "]";
  }
  function timer(ms, callback) {
    if (!active) throw new ErrorClass("a timer was set after its cell had ended");
    const wait = +ms; // read once: it may be an object
    if (openTimers >= limits.timers) throw new RangeErrorClass("too many timers: at most " + limits.timers + " may be open at once");
    openTimers++;
    const length = wait > 0 && wait < 2147483647 ? wait : wait > 0 ? 2147483647 : 0;
    const id = open('"timer"', "" + length);
    pending[id] = { __proto__: null, callback, due: clock + length, isDue: length === 0, drains, at: requests.length - 1 };
    return id;
  }
  function clearTimer(timerId) {
    const id = +timerId; // read once: it may be an object
    const entry = pending[id];
    if (entry === undefined || entry.callback === undefined) return;
    delete pending[id];
    openTimers--;
    if (entry.drains === drains) requests[entry.at] = ""; // the host has not heard of it yet
    else cancelled[cancelled.length] = "" + (id - before);
  }
  function sleep(ms) {
    return new PromiseClass((resolve) => { timer(ms, resolve); });
  }
  function report(error) {
    write("Uncaught " + (isError(error) ? inspect(error, { chars: 2000 }) : thrownText(error)));
  }
