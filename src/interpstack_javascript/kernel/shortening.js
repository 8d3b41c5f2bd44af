  // -- values that are too long for their reader, cut by structure -----------------------------

  // Lists keep their first and last items, objects their first keys, texts their beginning; what is left
  // out is counted where it was. A cut value is looked at several times, so getters are not run.
  const FEWEST = 12, SHORTEST = 40; // keys of an object, characters of a text
  const DEPTHS = [50, 4, 3, 2, 1];
  function moreOf(count, one, several = one + "s") {
    return "… " + count + " more " + (count === 1 ? one : several);
  }
  // A text without its end; never with a half of a character.
  function beginning(text, size) {
    return slice(text, 0, (charCode(text, size - 1) & 0xfc00) === 0xd800 ? size - 1 : size);
  }
  // The number of items at the beginning, and the index of those at the end.
  function shownItems(length, view) {
    if (view.most === null || length <= view.most.items) return { first: length, from: length };
    const { items } = view.most, last = items > 5 ? floor(items / 3) : items > 1 ? 1 : 0;
    return { first: items - last, from: length - last };
  }
  // What stands for the items between.
  const gapText = (first, from, length) => moreOf(from - first, "item") + (from < length ? " …" : "");
  function keysOf(value, view) {
    if (view.most === null) return ownKeys(value);
    const { known } = view.most, found = mapGet(known, value);
    if (found !== undefined) return found;
    const names = ownKeys(value);
    mapSet(known, value, names);
    return names;
  }
  // The longest of some texts that fits, each of which shows more than those before; undefined if none does.
  function longest(most, textFor) {
    let best, low = 1, high = most;
    while (low <= high) {
      const items = floor((low + high) / 2), text = textFor(items);
      if (text !== undefined && text.length <= most) { best = text; low = items + 1; } else high = items - 1;
    }
    return best;
  }
  // Options: most, the characters of the text; depth. Undefined if nothing fits.
  function shortened(value, { most, depth }) {
    const known = new MapClass();
    for (let i = 0; i < DEPTHS.length; i++) {
      const text = longest(most, (items) => {
        const view = newView(most, DEPTHS[i] < depth ? DEPTHS[i] : depth);
        view.most = mostOf(items, known);
        const shown = show(value, view, 0);
        return view.cut ? undefined : shown;
      });
      if (text !== undefined) return text;
    }
    return undefined;
  }
  function mostOf(items, known) {
    return { __proto__: null, items, texts: items * 8 > SHORTEST ? items * 8 : SHORTEST, fields: items > FEWEST ? items : FEWEST, known };
  }
  // A text that is JSON, as one that is JSON, too; undefined for other texts.
  const LONGEST_JSON = 4194304;
  function shortenedJSON(text, most) {
    const value = text.length > LONGEST_JSON || (text[0] !== "{" && text[0] !== "[") ? undefined : attempt(parse, text);
    if (value === undefined) return undefined;
    const indent = indexOf(text, "\n") === 1 ? 2 : 0;
    return longest(most, (items) => {
      const limit = mostOf(items), room = { __proto__: null, left: most };
      const kept = keptJSON(value, limit, room, 0);
      return room.left < 0 ? undefined : stringify(kept, null, indent);
    });
  }
  function keptJSON(value, most, room, level) {
    if (typeof value === "string") {
      const cut = value.length > most.texts;
      if ((room.left -= cut ? most.texts : value.length) < 0) return null;
      return cut ? beginning(value, most.texts) + moreOf(value.length - most.texts, "character") : value;
    }
    if (typeof value !== "object" || value === null) {
      room.left -= 2;
      return value;
    }
    if ((room.left -= 2) < 0 || level > 190) {
      room.left = -1;
      return null;
    }
    return isArray(value) ? keptItems(value, most, room, level) : keptFields(value, most, room, level);
  }
  function keptItems(value, most, room, level) {
    const made = new Items(), { length } = value, { first, from } = shownItems(length, { __proto__: null, most });
    for (let i = 0; i < length && room.left >= 0; i++) {
      if (i === first) {
        made[made.length] = gapText(first, from, length);
        if ((i = from) === length) break;
      }
      made[made.length] = keptJSON(value[i], most, room, level + 1);
    }
    return made;
  }
  function keptFields(value, most, room, level) {
    const made = new Fields(), names = keys(value);
    for (let i = 0; i < names.length && room.left >= 0; i++) {
      if (i === most.fields) {
        define(made, "…", moreOf(names.length - i, "key"), true);
        break;
      }
      room.left -= names[i].length;
      define(made, names[i], keptJSON(value[names[i]], most, room, level + 1), true);
    }
    return made;
  }

