
  // -- places in cells whose text an engine has changed ------------------------------------

  // Preparation moves columns, never lines. An engine that names scripts gives each changed script a
  // name of its own, the usual one with "#" and a number; where scripts have no names, the table of
  // the latest changed cell holds for all. A table of shifts leads back from there:
  // [lines, line, start, end, writtenStart, writtenEnd, line, …]. From `start` to `end` the changed
  // line has text instead of what was written; columns count from 0. `null` stands for a change of too
  // many parts.
  const shifted = table(); // numbers of scripts -> their tables
  const mostShifts = 200000; // numbers in all tables, of the latest scripts
  let scripts = 0, oldest = 1, shifts = 0;
  let named = true, latest = 0; // the engine names scripts; else the number of the running cell's table
  let mixed = false; // without names: the cell's functions are a script of their own, whose columns are not moved

  // The engine's name for a script with this table; undefined for a script as it was written.
  function scriptName(numbers) {
    latest = 0;
    if (numbers === undefined) return script;
    const number = ++scripts, size = numbers === null ? 1 : numbers.length;
    shifted[number] = numbers;
    shifts += size;
    while (shifts > mostShifts && oldest < number) {
      shifts -= shifted[oldest] === null ? 1 : shifted[oldest].length;
      delete shifted[oldest++];
    }
    latest = number;
    return named ? script + "#" + number : script;
  }
  // A line of a stack trace with places as the user wrote them; undefined for what preparation added.
  function writtenPlaces(frame) {
    const line = renamed(frame, "$cell", "eval"), whole = line !== frame || indexOf(line, "at <eval>") >= 0;
    const mark = named ? script + "#" : script + ":";
    if (script === "" || (!named && latest === 0) || indexOf(line, mark) < 0) return line;
    let text = "", from = 0, at;
    while ((at = indexOf(line, mark, from)) >= 0) {
      const place = placeAt(line, named ? at + mark.length : at + script.length);
      const found = place.column > 0 ? writtenColumn(place, whole) : 0;
      if (found === undefined) return undefined;
      text += slice(line, from, at) + script + (place.line > 0 ? ":" + place.line : "") + (found > 0 ? ":" + found : "");
      from = place.end;
    }
    return text + slice(line, from);
  }
  // What follows a script's name: its number, line and column; 0 for those that are missing.
  function placeAt(line, start) {
    const place = { __proto__: null, number: 0, line: 0, column: 0, end: start };
    place.number = named ? numberAt(line, place) : latest;
    if (charCode(line, place.end) === 58 && isDigit(charCode(line, place.end + 1))) {
      place.end++;
      place.line = numberAt(line, place);
      if (charCode(line, place.end) === 58 && isDigit(charCode(line, place.end + 1))) {
        place.end++;
        place.column = numberAt(line, place);
      }
    }
    return place;
  }
  function numberAt(line, place) {
    let value = 0;
    for (; isDigit(charCode(line, place.end)); place.end++) value = 10 * value + charCode(line, place.end) - 48;
    return value;
  }
  // The column in the written source, from 1; 0 if it is not known any more, undefined behind the source.
  function writtenColumn({ number, line, column }, whole) {
    const numbers = shifted[number];
    if (numbers === undefined || numbers === null) return 0;
    if (line > numbers[0]) return named || whole ? undefined : column; // of a longer cell before
    if (!named && mixed && !whole && isShifted(numbers, line)) return 0;
    return shiftedBack(numbers, line, column - 1) + 1;
  }
  function isShifted(numbers, line) {
    for (let i = 1; i < numbers.length && numbers[i] <= line; i += 5) if (numbers[i] === line) return true;
    return false;
  }
  function shiftedBack(numbers, line, at) {
    let low = 0, high = (numbers.length - 1) / 5; // the first entry behind the place
    while (low < high) {
      const middle = floor((low + high) / 2), i = 1 + 5 * middle;
      if (numbers[i] < line || (numbers[i] === line && numbers[i + 1] <= at)) low = middle + 1;
      else high = middle;
    }
    const i = 1 + 5 * (low - 1);
    if (low === 0 || numbers[i] !== line) return at;
    return at < numbers[i + 2] ? numbers[i + 3] : at - numbers[i + 2] + numbers[i + 4];
  }
