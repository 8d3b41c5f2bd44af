
  // -- places in cells whose text an engine has changed ------------------------------------

  // Preparation moves columns, never lines. An engine that names scripts gives each changed cell a
  // name of its own, the usual one with "#" and a number. Tables of shifts lead back from there, the
  // last change first: [lines, line, start, end, writtenStart, writtenEnd, line, …]. From `start` to
  // `end` the changed line has text instead of what was written; columns count from 0. `null` stands
  // for a change of too many parts.
  const shifted = table(); // numbers of scripts -> their tables
  const mostShifts = 200000; // numbers in all tables, of the latest scripts
  let scripts = 0, oldest = 1, shifts = 0;

  // The engine's name for a script with these tables, as JSON text; empty for a cell as it was written.
  function scriptName(text) {
    if (text === "") return script;
    const tables = parse(text), number = ++scripts;
    let size = 0;
    for (let i = 0; i < tables.length; i++) size += tables[i] === null ? 0 : tables[i].length;
    shifted[number] = { __proto__: null, tables, size };
    shifts += size;
    while (shifts > mostShifts) {
      shifts -= shifted[oldest].size;
      delete shifted[oldest++];
    }
    return script + "#" + number;
  }
  // A line of a stack trace with places as the user wrote them; undefined for what preparation added.
  function writtenPlaces(line) {
    const mark = script + "#";
    if (script === "" || indexOf(line, mark) < 0) return line;
    let text = "", from = 0, at;
    while ((at = indexOf(line, mark, from)) >= 0) {
      const place = placeAt(line, at + mark.length);
      const found = place.column > 0 ? writtenColumn(place) : 0;
      if (found === undefined) return undefined;
      text += slice(line, from, at) + script + (place.line > 0 ? ":" + place.line : "") + (found > 0 ? ":" + found : "");
      from = place.end;
    }
    return text + slice(line, from);
  }
  // What follows a script's name: its number, line and column; 0 for those that are missing.
  function placeAt(line, start) {
    const place = { __proto__: null, number: 0, line: 0, column: 0, end: start };
    place.number = numberAt(line, place);
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
  function writtenColumn({ number, line, column }) {
    if (shifted[number] === undefined) return 0;
    const { tables } = shifted[number];
    let at = column - 1;
    for (let i = 0; i < tables.length; i++) {
      if (tables[i] === null) return 0;
      if (line > tables[i][0]) return undefined;
      at = shiftedBack(tables[i], line, at);
    }
    return at + 1;
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
