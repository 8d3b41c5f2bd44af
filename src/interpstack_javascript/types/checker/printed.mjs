// Types of a cell's variables as text, for the checks of later cells.

// Characters of one type, and of all.
const CHARS = 2_000;
const ALL = 60_000;
const DEPTH = 6;
const MEMBERS = 60;
const ALTERNATIVES = 8;
const ANY = "any";
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
// Classes of the library whose types are written with their arguments.
const GENERIC = new Set(["Promise", "Map", "Set", "WeakMap", "WeakSet", "Iterator", "Generator"]);
const PLAIN = new Set([
  "Date", "RegExp", "Uint8Array", "ArrayBuffer", "Int32Array", "Float64Array", "URLSearchParams",
]);

export class TypePrinter {
  constructor(ts, made) {
    Object.assign(this, { ts, ...made });
  }

  // `assigned` has names that the cell assigns to, perhaps without declaring them.
  variables(assigned) {
    const found = {};
    for (const name of assigned) {
      if (IDENTIFIER.test(name) && !this.file.locals?.has(name)) found[name] = ANY;
    }
    let room = ALL;
    for (const [name, symbol] of this.file.locals ?? []) {
      if (!IDENTIFIER.test(name)) continue;
      const text = this.variable(symbol);
      room -= name.length + text.length;
      found[name] = room > 0 ? text : ANY;
    }
    return found;
  }

  variable(symbol) {
    const { ts, checker } = this;
    if (symbol.flags & (ts.SymbolFlags.Class | ts.SymbolFlags.Alias)) return ANY;
    const type = checker.getTypeOfSymbolAtLocation(symbol, symbol.valueDeclaration ?? this.file);
    this.room = CHARS;
    const text = this.print(type, 0);
    return this.room > 0 ? text : ANY;
  }

  print(type, depth) {
    const text = depth > DEPTH ? ANY : this.text(type, depth);
    this.room -= text.length;
    return this.room > 0 ? text : ANY;
  }

  text(type, depth) {
    const { ts, checker } = this;
    const is = flags => (type.flags & flags) !== 0;
    if (is(ts.TypeFlags.StringLike)) return "string";
    if (is(ts.TypeFlags.NumberLike)) return "number";
    if (is(ts.TypeFlags.BooleanLike)) return "boolean";
    if (is(ts.TypeFlags.BigIntLike)) return "bigint";
    if (type.isUnion()) return this.union(type.types, depth);
    if (!is(ts.TypeFlags.Object)) return ANY;
    if (checker.isTupleType(type)) {
      const items = checker.getTypeArguments(type);
      return `(${this.union(items, depth)})[]`;
    }
    if (checker.isArrayType(type)) {
      return `(${this.print(checker.getTypeArguments(type)[0], depth + 1)})[]`;
    }
    const symbol = type.symbol;
    const place = symbol?.declarations?.[0];
    if (place === undefined) return ANY;
    const file = place.getSourceFile();
    const path = file === this.declared ? declaredPath(ts, place) : null;
    if (path !== null) return `typeof ${path}`;
    if (this.library.has(file)) return this.ofLibrary(type, symbol.name, depth);
    const calls = type.getCallSignatures();
    if (calls.length > 0) {
      if (calls.length > 1 || type.getConstructSignatures().length > 0) return ANY;
      return `((...given: any[]) => ${this.print(calls[0].getReturnType(), depth + 1)})`;
    }
    const isWritten = ts.isObjectLiteralExpression(place);
    if (!isWritten && !ts.isTypeLiteralNode(place)) return ANY;
    return this.members(type, isWritten || file === this.file, depth);
  }

  union(types, depth) {
    const texts = new Set();
    for (const one of types) {
      if (one.flags & (this.ts.TypeFlags.Null | this.ts.TypeFlags.Undefined)) continue;
      texts.add(this.print(one, depth + 1));
    }
    if (texts.has(ANY) || texts.size === 0 || texts.size > ALTERNATIVES) return ANY;
    return [...texts].join(" | ");
  }

  ofLibrary(type, name, depth) {
    if (PLAIN.has(name)) return name;
    if (!GENERIC.has(name)) return ANY;
    const given = this.checker.getTypeArguments(type).map(one => this.print(one, depth + 1));
    return given.length > 0 ? `${name}<${given.join(", ")}>` : ANY;
  }

  members(type, isOpen, depth) {
    const { ts, checker } = this;
    const properties = checker.getPropertiesOfType(type);
    if (properties.length > MEMBERS) return ANY;
    const index = checker.getIndexInfosOfType(type);
    const parts = isOpen || index.length > 0 ? ["[name: string]: any"] : [];
    for (const one of properties) {
      const key = IDENTIFIER.test(one.name) ? one.name : JSON.stringify(one.name);
      const mark = one.flags & ts.SymbolFlags.Optional ? "?" : "";
      const inner = checker.getTypeOfSymbolAtLocation(one, one.valueDeclaration ?? this.file);
      parts.push(`${key}${mark}: ${this.print(inner, depth + 1)}`);
    }
    return parts.length > 0 ? `{${parts.join("; ")}}` : ANY;
  }
}

// The dotted name of a function or a namespace on offer that is declared at a node; `null` if none
// is.
export function declaredPath(ts, node) {
  const names = [];
  let at = ts.isTypeLiteralNode(node) ? node.parent : node;
  for (; at !== undefined; at = at.parent) {
    if (ts.isMethodSignature(at) || ts.isPropertySignature(at)) {
      names.unshift(at.name.text);
      if (!ts.isTypeLiteralNode(at.parent)) return null;
      at = at.parent;
    } else if (ts.isVariableDeclaration(at) || ts.isFunctionDeclaration(at)) {
      return [at.name.text, ...names].join(".");
    } else {
      return null;
    }
  }
  return null;
}
