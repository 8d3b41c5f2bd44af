// Inputs of calls as far as their types tell them, as data for the host, whose functions decide.
//
// A part that may fit is unknown, written as `null`. Others are `{lit}`, a value; `{kind, path, takes}`,
// any value of a kind that the function does not declare there, and what it declares; `{list}`; `{each}`, a list of any length;
// `{fields, open}`, an object, which may have more fields where it is open.
const DEPTH = 6;
const FIELDS = 60;
const CHARS = 100;

export class Inputs {
  constructor(ts, made) {
    Object.assign(this, { ts, ...made });
    this.path = [];
  }

  // A part of a value at one more step of the path.
  inner(step, read) {
    this.path.push(step);
    const value = read();
    this.path.pop();
    return value;
  }

  misfit(kind, want) {
    const path = this.path.reduce(
      (text, step) => (typeof step === "number" ? `${text}[${step}]` : text === "" ? step : `${text}.${step}`),
      "",
    );
    return { kind, path: path.slice(0, CHARS), takes: this.checker.typeToString(want).slice(0, CHARS) };
  }

  // The type that a function declares for its input; `null` for any.
  wanted(place) {
    const [first] = place.parameters;
    if (first === undefined || first.dotDotDotToken !== undefined || !first.type) return null;
    return this.checker.getTypeFromTypeNode(first.type);
  }

  value(node, want, depth = 0) {
    const { ts, checker } = this;
    if (depth > DEPTH || want === null) return null;
    if (ts.isParenthesizedExpression(node)) return this.value(node.expression, want, depth);
    if (ts.isObjectLiteralExpression(node)) return this.object(node, want, depth);
    if (ts.isArrayLiteralExpression(node)) {
      const each = this.element(want);
      const list = node.elements.map((one, at) =>
        ts.isSpreadElement(one) || ts.isOmittedExpression(one)
          ? null
          : this.inner(at, () => this.value(one, each, depth + 1)),
      );
      if (node.elements.some(ts.isSpreadElement)) {
        return this.fits("array", want) ? null : this.misfit("array", want);
      }
      return list.some(one => one !== null) || !this.fits("array", want) ? { list } : null;
    }
    return this.typed(checker.getTypeAtLocation(node), want, depth);
  }

  object(node, want, depth) {
    const { ts } = this;
    const fields = {};
    const literals = new Set();
    let open = false;
    for (const one of node.properties) {
      const isNamed = one.name !== undefined && (ts.isIdentifier(one.name) || ts.isStringLiteralLike(one.name));
      if (!isNamed) { // it may replace what is written before it
        open = true;
        for (const name of Object.keys(fields)) fields[name] = null;
        continue;
      }
      const name = one.name.text;
      let value = null;
      const kind = this.field(want, name);
      if (ts.isPropertyAssignment(one)) {
        value = this.inner(name, () => this.value(one.initializer, kind, depth + 1));
      } else if (ts.isShorthandPropertyAssignment(one)) {
        const symbol = this.checker.getShorthandAssignmentValueSymbol(one);
        const type = symbol && this.checker.getTypeOfSymbolAtLocation(symbol, one.name);
        if (type !== undefined) {
          value = this.inner(name, () => this.typed(type, kind, depth + 1));
        }
      }
      // Of values that are written there, the check of calls knows all.
      const isLiteral = value !== null && "lit" in value && ts.isLiteralExpression(one.initializer ?? one.name);
      if (isLiteral) literals.add(value);
      fields[name] = value;
    }
    const told = Object.values(fields).filter(one => one !== null && !literals.has(one));
    return told.length > 0 || !this.fits("object", want) ? { fields, open } : null;
  }

  typed(type, want, depth) {
    const { ts, checker } = this;
    if (want === null || depth > DEPTH || this.isAny(want)) return null;
    const is = flags => (type.flags & flags) !== 0;
    if (type.isUnion() && !is(ts.TypeFlags.Boolean)) {
      const kinds = new Set(type.types.map(one => this.kind(one)));
      const [kind] = kinds;
      const isWrong = kinds.size === 1 && kind !== null && !this.fits(kind, want);
      return isWrong ? this.misfit(kind, want) : null;
    }
    const kind = this.kind(type);
    if (kind === null) return null;
    if (!this.fits(kind, want)) return this.misfit(kind, want);
    if (is(ts.TypeFlags.StringLiteral | ts.TypeFlags.NumberLiteral)) return { lit: type.value };
    if (kind === "array") {
      const [of] = checker.getTypeArguments(type);
      const each = this.inner(0, () => this.typed(of, this.element(want), depth + 1));
      return each === null ? null : { each };
    }
    return kind === "object" ? this.ofType(type, want, depth) : null;
  }

  // An object of a type: it may have more fields, and may lack those that are optional.
  ofType(type, want, depth) {
    const { ts, checker } = this;
    if (type.getStringIndexType() !== undefined) return null;
    const properties = checker.getPropertiesOfType(type);
    if (properties.length > FIELDS) return null;
    const fields = {};
    let says = false;
    for (const one of properties) {
      if (one.flags & ts.SymbolFlags.Optional) continue;
      const kind = this.field(want, one.name);
      const inner = checker.getTypeOfSymbolAtLocation(one, one.valueDeclaration ?? this.file);
      const value = this.inner(one.name, () => this.typed(inner, kind, depth + 1));
      const isUnknown = this.isStrict(want) && want.getProperty(one.name) === undefined;
      if (value !== null || isUnknown) says = true;
      fields[one.name] = value;
    }
    return says ? { fields, open: true } : null;
  }

  isStrict(want) {
    return !want.isUnion() && want.getStringIndexType() === undefined && want.getProperties().length > 0;
  }

  kind(type) {
    const { ts, checker } = this;
    const is = flags => (type.flags & flags) !== 0;
    if (is(ts.TypeFlags.StringLike)) return "string";
    if (is(ts.TypeFlags.NumberLike)) return "number";
    if (is(ts.TypeFlags.BooleanLike)) return "boolean";
    if (!is(ts.TypeFlags.Object)) return null;
    if (checker.isTupleType(type)) return null;
    if (checker.isArrayType(type)) return "array";
    const place = type.symbol?.declarations?.[0];
    if (place === undefined) return null;
    if (type.symbol.name === "Promise" && this.library.has(place.getSourceFile())) return "promise";
    if (type.getCallSignatures().length > 0) return null;
    return ts.isTypeLiteralNode(place) || ts.isObjectLiteralExpression(place) ? "object" : null;
  }

  isAny(type) {
    const { ts } = this;
    return (type.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown | ts.TypeFlags.Never | ts.TypeFlags.TypeParameter)) !== 0;
  }

  // Whether a declared type has values of a kind.
  fits(kind, want) {
    const { ts, checker } = this;
    if (this.isAny(want)) return true;
    if (want.isUnion()) return want.types.some(one => this.fits(kind, one));
    if (want.isIntersection()) return true;
    const is = flags => (want.flags & flags) !== 0;
    if (is(ts.TypeFlags.StringLike)) return kind === "string";
    if (is(ts.TypeFlags.NumberLike)) return kind === "number";
    if (is(ts.TypeFlags.BooleanLike)) return kind === "boolean";
    if (is(ts.TypeFlags.Null | ts.TypeFlags.Undefined | ts.TypeFlags.Void)) return false;
    if (!is(ts.TypeFlags.Object)) return true;
    if (checker.isArrayType(want) || checker.isTupleType(want)) return kind === "array";
    const place = want.symbol?.declarations?.[0];
    const isPlain = place === undefined || ts.isTypeLiteralNode(place) || ts.isMappedTypeNode(place);
    return isPlain ? kind === "object" : true;
  }

  field(want, name) {
    if (want === null || want.isUnion() || this.isAny(want)) return null;
    const found = want.getProperty(name);
    if (found !== undefined) {
      return this.checker.getTypeOfSymbolAtLocation(found, found.valueDeclaration ?? this.file);
    }
    return null;
  }

  element(want) {
    if (want === null || want.isUnion() || !this.checker.isArrayType(want)) return null;
    return this.checker.getTypeArguments(want)[0];
  }
}
