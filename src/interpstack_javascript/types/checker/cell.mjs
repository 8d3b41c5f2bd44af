// The text of a cell in which some variables are declared as `any`.
const MARK = ":any";

export class Cell {
  // `ends` are places behind names in the source.
  constructor(source, ends) {
    this.ends = [...ends].sort((a, b) => a - b);
    let text = "";
    let at = 0;
    for (const end of this.ends) {
      text += source.slice(at, end) + MARK;
      at = end;
    }
    this.text = text + source.slice(at);
  }

  // The place in the source of a place in the text.
  place(position) {
    let moved = 0;
    for (const end of this.ends) {
      if (end + moved >= position) break;
      moved += MARK.length;
    }
    return position - moved;
  }
}
