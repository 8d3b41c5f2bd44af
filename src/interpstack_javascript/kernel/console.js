  // Console output. `printed` keeps its place in memory for good, and each text in it stays short
  // enough for QuickJS to store it in one run, not as a tree. So an engine that can look into
  // memory finds the output of a guest that was stopped in the middle: two counts, of characters
  // that were omitted and of those in `surplus`; the number of this output, which is odd once the
  // host has taken it; then the pieces of the text.
  const PIECES = 32, PIECE_CHARS = 500, NUMBER = 2, FIRST = 3, LAST = FIRST + PIECES - 1;
  const printed = list();
  for (let i = 0; i <= LAST; i++) printed[i] = 1592590337 + i; // found by these numbers
  let piece = FIRST;          // the one that is written to
  let surplus = list();       // what comes after the last piece
  let left = 0, beyond = 0;   // characters there is room for: at once, and after that
  let taken = true;           // the host has it all
  let live = false;           // somebody reads it while the cell runs
  let delivered = 0;          // characters that the host took before, in this cell
  function clearConsole() {
    for (let i = FIRST; i <= LAST; i++) printed[i] = "";
    printed[0] = printed[1] = 0;
    printed[NUMBER] = ((printed[NUMBER] | 1) + 1) & 0x3fffffff;
    piece = FIRST;
    surplus = list();
    taken = false;
    allot(delivered < limits.consoleChars ? limits.consoleChars - delivered : 0);
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
    if (omitted > 0) printed[0] = printed[0] + omitted < 2147483647 ? printed[0] + omitted : 2147483647;
    if (!shown) return;
    store("\n");
    for (let from = 0; from < kept.length; from += PIECE_CHARS) store(slice(kept, from, from + PIECE_CHARS));
    allot(room - kept.length - 1);
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
  function takeConsole() {
    if (taken) return;
    let text = "";
    for (let i = FIRST; i <= piece; i++) text += printed[i];
    text += join(surplus, "");
    if (text !== "" || printed[0] > 0)
      calls[calls.length] = '["console",{"text":' + stringify(slice(text, 1)) + ',"omitted":' + printed[0] + "}]";
    // It stays where it is until the host has it for sure: telling it may take too much memory.
    taken = true;
    printed[NUMBER] |= 1;
    delivered += text.length;
    left = beyond = 0;
  }
