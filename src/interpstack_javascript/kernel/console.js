  // Console output. `printed` keeps its place in memory for good, and each text in it stays short
  // enough for QuickJS to store it in one run, not as a tree. So an engine that can look into
  // memory finds the output of a guest that was stopped in the middle: two counts, of characters
  // that were omitted and of those in `surplus`; the number of this output, which is odd once the
  // host has taken it; then the pieces of the text.
  const PIECES = 32, PIECE_CHARS = 500, NUMBER = 2, FIRST = 3, LAST = FIRST + PIECES - 1;
  // The last lines of output that has no room are kept, too, and delivered when the cell has ended.
  const printed = list();
  for (let i = 0; i <= LAST; i++) printed[i] = 1592590337 + i; // found by these numbers
  let piece = FIRST;          // the one that is written to
  let surplus = list();       // what comes after the last piece
  let left = 0, beyond = 0;   // characters there is room for: at once, and after that
  let taken = true;           // the host has it all
  let live = false;           // somebody reads it while the cell runs
  let delivered = 0;          // characters that the host took before, in this cell
  let dropped = 0, ending = ""; // characters that had no room, and the last of these
  const mostEnding = () => limits.consoleChars < 400 ? 0 : floor(limits.consoleChars / 4); // too little to divide
  function beginConsole() {
    delivered = dropped = 0;
    ending = "";
    clearConsole();
  }
  function clearConsole() {
    for (let i = FIRST; i <= LAST; i++) printed[i] = "";
    printed[0] = dropped;
    printed[1] = 0;
    printed[NUMBER] = ((printed[NUMBER] | 1) + 1) & 0x3fffffff;
    piece = FIRST;
    surplus = list();
    taken = false;
    allot(delivered < limits.consoleChars && dropped === 0 ? limits.consoleChars - delivered : 0);
  }
  function allot(room) {
    const free = surplus.length > 0 ? 0 : PIECE_CHARS - printed[piece].length;
    left = room < free ? room : free;
    beyond = room - left;
  }
  function write(line) {
    const size = line.length + 1;
    if (size > left) {
      writeParts(line);
    } else {
      left -= size;
      printed[piece] += "\n" + line;
    }
  }
  function writeParts(line) {
    if (taken) clearConsole();
    const room = left + beyond;
    let kept = line.length <= room ? line : slice(line, 0, room > 0 ? room : 0);
    // A cut never falls between the two halves of a character.
    if (kept.length < line.length && kept.length > 0 && (charCode(kept, kept.length - 1) & 0xfc00) === 0xd800)
      kept = slice(kept, 0, kept.length - 1);
    let omitted = line.length - kept.length;
    const shown = kept.length > 0 || room > 0;
    if (!shown) omitted += 1; // its line break
    if (omitted > 0) {
      dropped = printed[0] = dropped + omitted < 2147483647 ? dropped + omitted : 2147483647;
      keepEnding(shown ? slice(line, kept.length) : "\n" + line);
    }
    if (!shown) return;
    store("\n");
    for (let from = 0; from < kept.length; from += PIECE_CHARS) store(slice(kept, from, from + PIECE_CHARS));
    allot(room - kept.length - 1);
  }
  function keepEnding(text) {
    const most = mostEnding();
    if (most === 0) return;
    ending += text.length > most ? slice(text, text.length - most) : text;
    if (ending.length > 4 * most) ending = slice(ending, ending.length - most);
  }
  // The last lines of what was dropped; of a long line, its end.
  function takeEnding() {
    const most = mostEnding();
    let end = ending.length > most ? slice(ending, ending.length - most) : ending;
    const line = indexOf(end, "\n");
    if (line >= 0 && line < end.length / 2) end = slice(end, line + 1);
    else if ((charCode(end, 0) & 0xfc00) === 0xdc00) end = slice(end, 1);
    return end;
  }
  function store(text) {
    const fits = surplus.length === 0 && printed[piece].length + text.length <= PIECE_CHARS;
    if (!fits && (piece === LAST || surplus.length > 0)) {
      surplus[surplus.length] = text;
      printed[1] += text.length;
      return;
    }
    if (!fits) piece++;
    printed[piece] += text;
  }
  function takeConsole(isLast) {
    if (taken) return;
    let text = "";
    for (let i = FIRST; i <= piece; i++) text += printed[i];
    text += join(surplus, "");
    const end = isLast ? takeEnding() : "";
    if (text !== "" || isLast && dropped > 0)
      calls[calls.length] = '["console",{"text":' + stringify(slice(text, 1))
        + ',"omitted":' + (isLast ? dropped - end.length : 0) + (end === "" ? "" : ',"end":' + stringify(end)) + "}]";
    if (isLast) {
      dropped = 0;
      ending = "";
    }
    // It stays where it is until the host has it for sure: telling it may take too much memory.
    taken = true;
    printed[NUMBER] |= 1;
    delivered += text.length;
    left = beyond = 0;
  }
