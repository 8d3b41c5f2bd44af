  // -- the cell ----------------------------------------------------------------------------

  // Run a prepared cell; see `Prepared` in `cells.py`.
  let running = ""; // the part of the cell that is evaluated; images shall not keep it
  function run(command) {
    let value, text = running = command.functions;
    mixed = typeof text === "string" && text !== "";
    try {
      if (command.declared !== undefined) declareAll(command.declared);
      if (text !== undefined) evaluate(text + "\n//# sourceURL=" + scriptName(command.functionShifts));
      text = running = command.source;
      value = evaluate(text + "\n//# sourceURL=" + scriptName(command.shifts));
    } catch (error) {
      fail(error, cell, attempt(() => findFault(error, text)));
      return;
    } finally {
      running = "";
    }
    const asIs = command.declares === true;
    track(command.awaits === true ? value : new PromiseClass((resolve) => { resolve({ __proto__: null, value, asIs }); }));
  }
  function track(promise) {
    const mine = cell;
    // An own `constructor` keeps `then` from looking for a species the guest may have set.
    defineProperty(promise, "constructor", { __proto__: null, value: undefined });
    apply(promiseThen, promise, [(box) => {
      const value = box.value;
      if (box.asIs !== true && typeof value === "object" && value !== null && isPromise(value)
        && settled(value, [(inner) => succeed(inner, mine), (reason) => fail(reason, mine)])) return;
      succeed(value, mine, box.asIs === true);
    }, (reason) => fail(reason, mine)]);
  }
  // Attach handlers to a promise of the guest; false for what only looks like one.
  function settled(promise, handlers) {
    try {
      apply(promiseThen, promise, handlers);
      return true;
    } catch { /* no promise, or the guest has broken how promises find their class */ }
    try {
      defineProperty(promise, "constructor", { __proto__: null, value: undefined, configurable: true });
      apply(promiseThen, promise, handlers);
      deleteProperty(promise, "constructor");
      return true;
    } catch {
      return false;
    }
  }
  let keepResult; // takes a value of which not all is shown, from a guest source
  // `declared`: the value is that of a variable, which the last statement declares.
  function succeed(value, mine, declared = false) {
    if (mine !== cell || !active) return;
    let text, handle = false, exact = true, omitted = 0, isShort = false;
    try {
      if (typeof value === "string") {
        const short = value.length > limits.resultChars ? shortenedJSON(value, limits.resultChars) : undefined;
        isShort = short !== undefined;
        text = short === undefined ? slice(value, 0, limits.renderChars) : short;
        omitted = short === undefined ? value.length - text.length : 0;
      } else {
        const options = { chars: limits.renderChars, depth: 50, most: limits.resultChars, cut: false };
        text = inspect(value, options);
        exact = !options.cut;
        isShort = options.shortened === true;
        omitted = options.cut ? 1 : 0;
        handle = typeof value === "symbol" || typeof value === "function";
        if (text.length > 2 * limits.renderChars) { // many short parts
          omitted = text.length - limits.renderChars;
          text = slice(text, 0, limits.renderChars);
        }
        if (typeof value === "function") text += " arity=" + (attempt((v) => +v.length, value) || 0);
      }
    } catch (error) {
      fail(error, mine);
      return;
    }
    if (keepResult !== undefined && !handle && (omitted > 0 || isShort || text.length > limits.resultChars))
      attempt(keepResult, value);
    try {
      completion = '{"text":' + stringify(text) + ',"omitted":' + omitted + ',"exact":' + exact + ',"shortened":' + isShort + ',"handle":' + handle + ',"undefined":' + (declared || value === undefined) + "}";
    } catch {
      completion = noRoom;
    }
    active = false;
    dropUnreached(); // behind a `return`
    attempt(keepValue, value);
  }
  // The value of a cell as a variable of the next one, unless the guest has one of that name.
  let valueName = "", lastValue;
  function keepValue(value) {
    if (valueName === "" || value === undefined) return;
    const found = getOwnPropertyDescriptor(globals, valueName);
    if (found !== undefined) {
      const last = found.value;
      if (found.get !== undefined || (last !== lastValue && (last === last || lastValue === lastValue))) return;
    }
    define(globals, valueName, value, true);
    lastValue = value;
  }
  function fail(reason, mine, place) {
    if (mine !== cell || !active) return;
    try {
      completion = '{"error":' + errorText(reason) + (weakSetHas(explained, reason) ? ',"explained":true' : "") + (place === undefined ? "" : ',"place":' + place) + "}";
    } catch {
      completion = noRoom; // nothing else makes this fail
    }
    active = false;
    dropUnreached();
  }
  const noRoom = '{"error":{"name":"InternalError","message":"out of memory","stack":""}}';
