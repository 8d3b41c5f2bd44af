// The guest's `console`, with the formatting rules of Node's and the notation of the kernel.
//
// Takes the kernel's interface; see the end of `kernel.js`. Formatting runs under the guest's
// control, so the kernel's discipline holds here too: intrinsics are captured first; no spread,
// no for-of, no array destructuring, no method calls on values; own lists have no prototype.
// An argument that throws when it is looked at is shown as such; it never throws out of here.
(kernel) => {
  "use strict";
  const { inspect, write, describe, thrownText, now, define } = kernel;
  const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf } = Reflect;
  const uncurry = Function.prototype.bind.bind(Function.prototype.call);
  const StringClass = String, NumberClass = Number, ErrorClass = Error, TypeErrorClass = TypeError;
  const { isArray } = Array;
  const { keys, setPrototypeOf } = Object;
  const { stringify } = JSON;
  const { floor } = Math;
  const toInt = parseInt, toFloat = parseFloat;
  const indexOf = uncurry(String.prototype.indexOf), slice = uncurry(String.prototype.slice);
  const repeat = uncurry(String.prototype.repeat), charCode = uncurry(String.prototype.charCodeAt);
  const padStart = uncurry(String.prototype.padStart), toFixed = uncurry(Number.prototype.toFixed);
  const mapForEach = uncurry(Map.prototype.forEach), setForEach = uncurry(Set.prototype.forEach);
  const mapSize = uncurry(getOwnPropertyDescriptor(Map.prototype, "size").get);
  const setSize = uncurry(getOwnPropertyDescriptor(Set.prototype, "size").get);
  const withOwnText = [ // prototypes whose toString says less than inspection does
    Object.prototype, Array.prototype, Error.prototype, Date.prototype, RegExp.prototype,
    Function.prototype, Number.prototype, String.prototype, Boolean.prototype, Symbol.prototype,
    BigInt.prototype, getPrototypeOf(Uint8Array.prototype),
  ];

  const VALUE_CHARS = 100000;   // of one inspected argument, and of the cells of one table
  const LINE_CHARS = 1000000;   // after which no more arguments are added
  const CELL_CHARS = 1000;
  const TABLE_ROWS = 1000;
  const MAX_INDENT = 100;       // groups
  const DEPTH = 5;              // four levels below the value itself
  const MAX_DEPTH = 50;

  function list() { return setPrototypeOf([], null); }
  function hasBrand(action, value) {
    try { action(value); return true; } catch { return false; }
  }
  function isList(value) {
    try { return isArray(value); } catch { return false; } // a revoked proxy throws
  }

  // -- values to text ----------------------------------------------------------------------

  function inspected(value, depth, chars) {
    const options = { __proto__: null, chars, depth, cut: false };
    const text = inspect(value, options);
    return options.cut ? text + "…" : text;
  }
  function shown(value) {
    switch (typeof value) {
      case "string": return value;
      case "number": return value === 0 && 1 / value < 0 ? "-0" : "" + value;
      case "boolean": case "undefined": return "" + value;
    }
    return inspected(value, DEPTH, VALUE_CHARS);
  }
  function converted(value) {
    if (typeof value === "bigint") return shown(value);
    try {
      return StringClass(value);
    } catch {
      return shown(value);
    }
  }
  function labelled(label) {
    return label === undefined ? "default" : converted(label);
  }

  // -- arguments to a line -----------------------------------------------------------------

  function format(args) {
    if (args.length === 0) return ""; // an absent item would be looked up in a prototype
    const first = args[0];
    if (typeof first !== "string") return append(shown(first), args, 1);
    if (args.length === 1) return first;
    return indexOf(first, "%") < 0 ? append(first, args, 1) : fill(first, args);
  }
  function append(text, args, from) {
    for (let i = from; i < args.length; i++) {
      if (text.length > LINE_CHARS) return text + " …";
      text += " " + shown(args[i]);
    }
    return text;
  }
  function fill(template, args) {
    let text = "", from = 0, next = 1;
    for (let at = indexOf(template, "%"); at >= 0 && at + 1 < template.length; at = indexOf(template, "%", at + 2)) {
      const letter = template[at + 1];
      let piece;
      if (letter === "%") piece = "%";
      else if (next < args.length && (piece = placeholder(letter, args[next])) !== undefined) next++;
      if (piece === undefined) continue;
      text += slice(template, from, at) + piece;
      from = at + 2;
      if (text.length > LINE_CHARS) return text + "…";
    }
    return append(text + slice(template, from), args, next);
  }
  function placeholder(letter, value) {
    switch (letter) {
      case "s": return plain(value);
      case "d": case "i": case "f": return numeric(letter, value);
      case "j": return json(value);
      case "o": case "O": return inspected(value, DEPTH, VALUE_CHARS);
      case "c": return ""; // style sheets say nothing here
    }
    return undefined;
  }
  function plain(value) {
    if (typeof value === "function") return converted(value);
    if (typeof value !== "object" || value === null) return typeof value === "symbol" ? converted(value) : shown(value);
    return saysItself(value) ? converted(value) : inspected(value, 1, VALUE_CHARS);
  }
  function saysItself(value) {
    try {
      for (let at = value, i = 0; at !== null && i < 100; at = getPrototypeOf(at), i++)
        if (getOwnPropertyDescriptor(at, "toString") !== undefined) return !isBuiltin(at);
    } catch { /* a proxy that refuses to be looked at */ }
    return false;
  }
  function isBuiltin(prototype) {
    for (let i = 0; i < withOwnText.length; i++) if (withOwnText[i] === prototype) return true;
    return false;
  }
  function numeric(letter, value) {
    if (typeof value === "symbol") return "NaN";
    if (typeof value === "bigint") return letter === "f" ? shown(NumberClass(value)) : shown(value);
    try {
      return shown(letter === "d" ? NumberClass(value) : letter === "i" ? toInt(value) : toFloat(value));
    } catch {
      return "NaN";
    }
  }
  function json(value) {
    try {
      return "" + stringify(value);
    } catch (error) {
      return indexOf(thrownText(error), "circular") >= 0 ? "[Circular]" : shown(value);
    }
  }

  // -- lines to the buffer -----------------------------------------------------------------

  let groups = 0, indent = "";
  function say(args) {
    if (args.length === 1 && indent === "") { // most lines
      const text = args[0];
      write(typeof text === "string" ? text : shown(text));
    } else {
      print(format(args));
    }
  }
  function print(text) {
    if (indent === "") {
      write(text);
      return;
    }
    let indented = indent, from = 0;
    for (let at = indexOf(text, "\n"); at >= 0; at = indexOf(text, "\n", from)) {
      indented += slice(text, from, at + 1) + indent;
      from = at + 1;
    }
    write(indented + slice(text, from));
  }
  function open(args) {
    if (args.length > 0) print(format(args));
    if (groups++ < MAX_INDENT) indent += "  ";
  }
  function close() {
    if (groups > 0 && --groups < MAX_INDENT) indent = slice(indent, 2);
  }

  // -- tables ------------------------------------------------------------------------------

  // A grid's columns are lists of cells by row; a missing cell is empty.
  function makeGrid() {
    return { __proto__: null, heads: list(), columns: list(), rows: 0, more: 0, left: VALUE_CHARS };
  }
  function addColumn(grid, head, cells) {
    grid.heads[grid.heads.length] = head;
    grid.columns[grid.columns.length] = cells;
    return cells;
  }
  function spend(grid, text) {
    grid.left -= text.length + 3;
    return text;
  }
  function takesRow(grid) {
    if (grid.rows < TABLE_ROWS && grid.left > 0) return true;
    grid.more++;
    return false;
  }
  function cell(value) {
    if (typeof value !== "object" || value === null) return inspected(value, 1, CELL_CHARS);
    if (!isArray(value)) return inspected(value, keys(value).length > 2 ? -1 : 1, CELL_CHARS);
    const rest = value.length - 3;
    if (rest <= 0) return inspected(value, 1, CELL_CHARS);
    let text = "[";
    for (let i = 0; i < 3; i++) text += inspected(value[i], -1, CELL_CHARS) + ", ";
    return text + "... " + rest + " more item" + (rest === 1 ? "]" : "s]");
  }
  function cellAt(item, key) {
    try {
      return cell(item[key]);
    } catch (error) {
      return "[Throws: " + slice(thrownText(error), 0, 200) + "]";
    }
  }
  function gridOfEntries(data, forEach, keyed) {
    const grid = makeGrid(), index = addColumn(grid, "(iteration index)", list());
    const names = keyed ? addColumn(grid, "Key", list()) : undefined;
    const values = addColumn(grid, "Values", list());
    forEach(data, (item, key) => {
      if (!takesRow(grid)) return;
      const row = grid.rows++;
      index[row] = spend(grid, "" + row);
      if (keyed) names[row] = spend(grid, cellAt([key], 0));
      values[row] = spend(grid, cellAt([item], 0));
    });
    return grid;
  }
  function gridOfRows(data, wanted) {
    const grid = makeGrid(), index = addColumn(grid, "(index)", list());
    const columns = { __proto__: null }, values = list(), rows = keys(data);
    for (let i = 0; i < rows.length && takesRow(grid); i++) {
      const item = data[rows[i]], row = grid.rows++;
      index[row] = spend(grid, rows[i]);
      const primitive = item === null || (typeof item !== "object" && typeof item !== "function");
      if (primitive && wanted === undefined) values[row] = spend(grid, cell(item));
      else addCells(grid, columns, row, primitive ? undefined : item, wanted);
    }
    grid.more = rows.length - grid.rows;
    const names = keys(columns);
    for (let i = 0; i < names.length; i++) addColumn(grid, names[i], columns[names[i]]);
    if (values.length > 0) addColumn(grid, "Values", values);
    return grid;
  }
  function addCells(grid, columns, row, item, wanted) {
    const names = wanted === undefined ? keys(item) : wanted;
    for (let i = 0; i < names.length && grid.left > 0; i++) {
      const name = converted(names[i]);
      if (columns[name] === undefined) {
        columns[name] = list();
        spend(grid, name);
      }
      if (item !== undefined && getOwnPropertyDescriptor(item, name) !== undefined)
        columns[name][row] = spend(grid, cellAt(item, name));
    }
  }
  function draw(grid) {
    const widths = list();
    for (let i = 0; i < grid.heads.length; i++) {
      widths[i] = width(grid.heads[i]);
      for (let row = 0; row < grid.rows; row++) {
        const needed = width(cellText(grid, i, row));
        if (needed > widths[i]) widths[i] = needed;
      }
    }
    let text = rule(widths, "┌", "┬", "┐\n") + drawRow(widths, (i) => grid.heads[i]) + rule(widths, "├", "┼", "┤\n");
    let row = 0;
    for (; row < grid.rows && text.length < LINE_CHARS; row++) text += drawRow(widths, (i) => cellText(grid, i, row));
    text += rule(widths, "└", "┴", "┘");
    const more = grid.more + grid.rows - row;
    return more === 0 ? text : text + "\n… " + more + " more row" + (more === 1 ? "" : "s");
  }
  function cellText(grid, column, row) {
    const text = grid.columns[column][row];
    return text === undefined ? "" : text;
  }
  function rule(widths, left, middle, right) {
    let text = left;
    for (let i = 0; i < widths.length; i++) text += (i === 0 ? "" : middle) + repeat("─", widths[i] + 2);
    return text + right;
  }
  function drawRow(widths, textOf) {
    let text = "│";
    for (let i = 0; i < widths.length; i++) {
      const shownText = textOf(i);
      text += " " + shownText + repeat(" ", widths[i] - width(shownText)) + " │";
    }
    return text + "\n";
  }
  // Columns a text takes on a terminal: two for East Asian wide characters and emoji.
  function width(text) {
    let columns = text.length;
    for (let i = 0; i < text.length; i++) {
      const code = charCode(text, i);
      if (code < 0x300) continue;
      if (isWide(code)) columns++;
      else if (isNarrow(code)) columns--;
    }
    return columns;
  }
  function isNarrow(code) { // marks, joiners, and first halves of pairs that are no emoji
    return code < 0x370 || code === 0x200b || code === 0x200d || (code >= 0xfe00 && code <= 0xfe0f)
      || (code >= 0xd800 && code < 0xd83c);
  }
  function isWide(code) {
    return (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf && code !== 0x303f)
      || (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff)
      || (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60)
      || (code >= 0xffe0 && code <= 0xffe6);
  }
  function tabulate(data, wanted) {
    try {
      if (hasBrand(mapSize, data)) return draw(gridOfEntries(data, mapForEach, true));
      if (hasBrand(setSize, data)) return draw(gridOfEntries(data, setForEach, false));
      return draw(gridOfRows(data, wanted));
    } catch {
      return shown(data); // it cannot be walked through
    }
  }

  // -- counters and clocks -----------------------------------------------------------------

  const counts = { __proto__: null }, begun = { __proto__: null };
  function duration(ms) {
    if (ms < 1000) return +toFixed(ms, 3) + "ms";
    const seconds = ms / 1000;
    if (seconds < 60) return toFixed(seconds, 3) + "s";
    const rest = toFixed(seconds % 60, seconds < 3600 ? 3 : 0), minutes = floor(seconds / 60);
    if (minutes < 60) return minutes + ":" + padStart(rest, 6, "0") + " (m:ss.mmm)";
    return floor(minutes / 60) + ":" + padStart("" + (minutes % 60), 2, "0") + ":" + padStart(rest, 2, "0") + " (h:mm:ss)";
  }
  function elapsed(label, method) {
    if (begun[label] !== undefined) return label + ": " + duration(now() - begun[label]);
    print("No such label '" + label + "' for console." + method + "()");
    return undefined;
  }

  const console = {
    log(...args) { say(args); },
    info(...args) { say(args); },
    warn(...args) { say(args); },
    error(...args) { say(args); },
    debug(...args) { say(args); },
    dirxml(...args) { say(args); },
    trace(...args) {
      const message = format(args), { stack } = describe(new ErrorClass());
      print((message === "" ? "Trace" : "Trace: " + message) + (stack === "" ? "" : "\n" + stack));
    },
    dir(value, options) {
      let depth = DEPTH;
      try {
        const given = options.depth;
        if (given === null) depth = MAX_DEPTH;
        else if (typeof given === "number" && given >= 0) depth = given < MAX_DEPTH ? floor(given) + 1 : MAX_DEPTH;
      } catch { /* no options, or none that can be read */ }
      print(inspected(value, depth, VALUE_CHARS));
    },
    table(data, columns) {
      if (columns !== undefined && !isList(columns))
        throw new TypeErrorClass("console.table takes an array of column names as its second argument");
      print(data === null || typeof data !== "object" ? shown(data) : tabulate(data, columns));
    },
    group(...args) { open(args); },
    groupCollapsed(...args) { open(args); },
    groupEnd() { close(); },
    count(label) {
      label = labelled(label);
      counts[label] = (counts[label] || 0) + 1;
      print(label + ": " + counts[label]);
    },
    countReset(label) {
      label = labelled(label);
      if (counts[label] === undefined) print("Count for '" + label + "' does not exist");
      else counts[label] = undefined;
    },
    time(label) {
      label = labelled(label);
      if (begun[label] !== undefined) print("Label '" + label + "' already exists for console.time()");
      else begun[label] = now();
    },
    timeLog(label, ...args) {
      const text = elapsed(labelled(label), "timeLog");
      if (text !== undefined) print(append(text, args, 0));
    },
    timeEnd(label) {
      label = labelled(label);
      const text = elapsed(label, "timeEnd");
      if (text === undefined) return;
      begun[label] = undefined;
      print(text);
    },
    assert(condition, ...args) {
      if (condition) return;
      if (args.length === 0) print("Assertion failed");
      else if (typeof args[0] !== "string") print(append("Assertion failed:", args, 0));
      else {
        args[0] = "Assertion failed: " + args[0];
        print(format(args));
      }
    },
  };
  defineProperty(console, Symbol.toStringTag, { __proto__: null, value: "console", configurable: true });
  define("console", console);
}
