// The faults of a cell, of those that the compiler finds and of a few more.
//
// Code of models is loose, so only what cannot be meant is a fault. The compiler's other errors say
// where a variable gets values of several types: there it may hold anything.
import { Places } from "./places.mjs";
import { declaredPath } from "./printed.mjs";
import { Inputs } from "./inputs.mjs";

// Errors of the compiler, by number.
const MISSING_MEMBER = new Set([2339, 2550, 2551]);
const MISSING_NAME = new Set([2304, 2552, 2580, 2581, 2582, 2583, 2584, 2591, 2592, 2593, 18004]);
const NOT_CALLABLE = new Set([2349]);
const NOT_ITERABLE = new Set([2461, 2488, 2495, 2548, 2549]);
const MISMATCH = new Set([2322, 2345, 2353, 2412, 2559, 2561, 2588, 2739, 2740, 2741, 2769, 2820]);
const NO_OVERLOAD = 2769;
const UNREACHABLE = 7027;
// `await` in a function that is not async: the cell does not run, and the run says what to write.
const AWAIT_IN_FUNCTION = new Set([1308, 2311]);
// Faults that are answered.
const MOST = 40;
const CHARS = 60;
const KEYS = 40;
// Functions that make text of a value.
const READERS = new Set(["String", "Number", "parseInt", "parseFloat"]);

export class Faults {
  constructor(ts, made, added) {
    Object.assign(this, { ts, ...made });
    this.places = new Places(ts, made, added);
    this.inputs = new Inputs(ts, made);
    this.found = new Map();
  }

  // Variables that get values of another type than their first: names of those of earlier cells,
  // and places behind the names of those of this one.
  reassigned() {
    const found = [];
    for (const one of this.diagnostics) {
      if (!MISMATCH.has(one.code)) continue;
      for (const symbol of this.changed(this.node(one), one.code === NO_OVERLOAD)) {
        const place = symbol?.valueDeclaration;
        const file = place?.getSourceFile();
        if (file === this.declared) {
          this.places.loose.add(symbol); // a variable that hides a namespace
        } else if (file === this.earlier) {
          found.push({ name: symbol.name, end: null });
        } else if (file === this.file && this.ts.isIdentifier(place.name ?? place)) {
          if (place.type !== undefined || !this.takesType(place)) this.places.loose.add(symbol);
          else found.push({ name: symbol.name, end: this.cell.place(place.name.end) });
        }
      }
    }
    return found;
  }

  takesType(place) {
    const { ts } = this;
    if (ts.isVariableDeclaration(place)) return !ts.isCatchClause(place.parent);
    const owner = place.parent;
    const isBare = ts.isArrowFunction(owner) && this.file.text[place.end] !== ")" &&
      owner.parameters.length === 1 && !/\(\s*$/.test(this.file.text.slice(0, place.getStart()));
    return ts.isParameter(place) && !isBare;
  }

  // Variables that an assignment, or a method of them such as `push`, changes.
  *changed(node, isOfCall) {
    const { ts, checker } = this;
    for (let at = node; at?.parent !== undefined; at = at.parent) {
      const parent = at.parent;
      if (ts.isBinaryExpression(parent) && this.places.isAssignment(parent)) {
        yield this.root(parent.left);
        return;
      }
      if ((ts.isForOfStatement(parent) || ts.isForInStatement(parent)) && at === parent.initializer) {
        yield this.root(at);
        return;
      }
      const isCall = ts.isCallExpression(parent) || ts.isNewExpression(parent);
      if (isCall && (isOfCall || at !== parent.expression)) {
        const place = checker.getResolvedSignature(parent)?.declaration;
        if (place?.getSourceFile() === this.declared) return;
        this.places.looseNodes.add(parent); // what it gives may be of another type, too
        yield this.variable(parent);
        if (ts.isPropertyAccessExpression(parent.expression)) {
          yield this.root(parent.expression.expression);
        }
        if (place?.getSourceFile() === this.file) {
          yield place.parameters[parent.arguments?.indexOf(at) ?? -1]?.symbol;
        }
        return;
      }
      if (ts.isFunctionLike(at) || ts.isStatement(at)) return;
    }
  }

  // The variable that is declared with a value that contains a node.
  variable(node) {
    for (let at = node; at !== undefined && !this.ts.isStatement(at); at = at.parent) {
      if (this.ts.isVariableDeclaration(at)) return at.symbol;
    }
    return undefined;
  }

  root(node) {
    const { ts } = this;
    let at = node;
    for (;;) {
      if (ts.isIdentifier(at)) return this.checker.getSymbolAtLocation(at);
      if (ts.isArrayLiteralExpression(at) || ts.isObjectLiteralExpression(at)) return undefined;
      if (at.expression === undefined) return undefined;
      at = at.expression;
    }
  }

  all() {
    if (this.diagnostics.some(one => AWAIT_IN_FUNCTION.has(one.code))) return [];
    for (const one of this.diagnostics) {
      if (one.code === UNREACHABLE) this.places.dead.push([one.start, one.start + one.length]);
    }
    for (const one of this.diagnostics) this.ofCompiler(one);
    this.walk(this.file);
    return [...this.found.values()].sort((a, b) => a.at - b.at).slice(0, MOST);
  }

  // What later checks have to know: which variables the cell may have changed, and which members
  // it added to values.
  effects() {
    return { assigned: [...this.places.assigned], added: [...this.places.added].slice(0, 200) };
  }

  add(node, fault) {
    const at = this.cell.place(node.getStart());
    const key = `${at} ${fault.kind} ${fault.name ?? ""}`;
    if (!this.found.has(key)) this.found.set(key, { at, ...fault });
  }

  node(diagnostic) {
    return this.ts.getTokenAtPosition(this.file, diagnostic.start);
  }

  ofCompiler(one) {
    if (MISSING_MEMBER.has(one.code)) this.missingMember(this.node(one));
    else if (MISSING_NAME.has(one.code)) this.missingName(this.node(one));
    else if (NOT_CALLABLE.has(one.code)) this.notCallable(one);
    else if (NOT_ITERABLE.has(one.code)) this.notIterable(one);
  }

  // -- members and names ------------------------------------------------------------------------

  missingMember(token) {
    const { ts, checker } = this;
    const parent = token.parent;
    if (ts.isPropertyAccessExpression(parent) && parent.name === token) {
      const type = checker.getTypeAtLocation(parent.expression);
      this.lacks(parent, parent.expression, type, token);
    } else if (ts.isBindingElement(parent) && parent.initializer === undefined) {
      const name = parent.propertyName ?? parent.name;
      if (name !== token || this.places.isAskedAbout(parent.name.text)) return;
      const source = parent.parent.parent.initializer;
      const type = checker.getTypeAtLocation(source ?? parent.parent.parent);
      this.lacks(parent, source, type, token);
    }
  }

  lacks(node, holder, type, token) {
    const { places } = this;
    const name = token.text;
    if (places.isAskedAbout(name) || places.isGuarded(node) || places.isMeant(node)) return;
    if (holder !== undefined && places.isLoose(holder)) return;
    const known = this.known(type);
    if (known === null || known.some(one => one.keys.includes(name))) return;
    const isNamed = holder !== undefined && !this.ts.isBindingElement(node);
    if (isNamed && this.isNamespace(holder, known)) return;
    const [first] = known;
    this.add(token, {
      kind: "member",
      name,
      holder: holder === undefined ? "" : this.shown(this.bare(holder)),
      from: holder === undefined ? -1 : this.cell.place(this.bare(holder).getStart()),
      space: first.space,
      type: first.type,
      call: first.type === "Promise" && holder !== undefined ? this.called(holder) : "",
      keys: first.keys.slice(0, KEYS),
      ask: known.flatMap(one => one.ask),
    });
  }

  // Whether a namespace is named as such: the check of calls knows all about that.
  isNamespace(holder, known) {
    return known.every(one => one.space !== "" && holder.getText() === one.space);
  }

  missingName(token) {
    const { ts, places } = this;
    if (!ts.isIdentifier(token) || places.hasUnseenNames || places.isAskedAbout(token.text)) return;
    if (places.assigned.has(token.text) || places.isMeant(token)) return;
    this.add(token, { kind: "name", name: token.text });
  }

  // What a value of a type is, once for each alternative; `null` if it may have more members than
  // the type says.
  known(type) {
    const { ts, checker } = this;
    const parts = type.isUnion() ? type.types : [type];
    const found = parts.map(one => this.part(one));
    if (found.includes(null) || found.length === 0) return null;
    return found;
  }

  part(type) {
    const { ts, checker } = this;
    const of = (name, ask) => ({ type: name, space: "", keys: [], ask: [ask] });
    if (type.flags & ts.TypeFlags.StringLike) return of("string", ["String", "prototype"]);
    if (type.flags & ts.TypeFlags.NumberLike) return of("number", ["Number", "prototype"]);
    if (type.flags & ts.TypeFlags.BooleanLike) return of("boolean", ["Boolean", "prototype"]);
    if (!(type.flags & ts.TypeFlags.Object)) return null;
    const symbol = type.symbol;
    const place = symbol?.declarations?.[0];
    if (place === undefined || type.getStringIndexType() !== undefined) return null;
    const file = place.getSourceFile();
    if (this.library.has(file)) return this.ofLibrary(symbol, of);
    const path = file === this.declared ? declaredPath(ts, place) : null;
    const keys = checker.getPropertiesOfType(type).map(one => one.name);
    if (path !== null) {
      if (!ts.isTypeLiteralNode(place)) return null; // a function
      return { type: "object", space: path, keys, ask: [path.split(".")] };
    }
    if (type.getCallSignatures().length > 0 || type.getConstructSignatures().length > 0) return null;
    const isWritten = ts.isObjectLiteralExpression(place);
    if (isWritten ? !this.isWhole(place) : !ts.isTypeLiteralNode(place)) return null;
    if (keys.length === 0) return null;
    return { type: "object", space: "", keys, ask: [["Object", "prototype"]] };
  }

  ofLibrary(symbol, of) {
    const name = symbol.name.replace(/^Readonly(?=Array|Map|Set)/, "");
    if (["Array", "Promise", "Map", "Set", "Date", "RegExp"].includes(name)) {
      return of(name, [name, "prototype"]);
    }
    if (["Math", "JSON"].includes(name)) return of(name, [name]);
    const made = /^(Object|Array|Promise|Number|String|Date)Constructor$/.exec(name);
    return made === null ? null : of(made[1], [made[1]]);
  }

  // Whether an object that the cell writes has just the members that it is written with.
  isWhole(place) {
    const { ts } = this;
    if (place.getSourceFile() !== this.file || this.places.hasUnseenMembers) return false;
    return place.properties.every(
      one => !ts.isSpreadAssignment(one) && (one.name === undefined || !ts.isComputedPropertyName(one.name)),
    );
  }

  // -- values of a wrong kind -------------------------------------------------------------------

  notCallable(one) {
    const { ts, checker, places } = this;
    let node = this.node(one).parent;
    while (node !== undefined && !ts.isCallExpression(node)) node = node.parent;
    const callee = node?.expression;
    if (callee === undefined || places.isMeant(node) || places.isLoose(callee)) return;
    const type = checker.getTypeAtLocation(callee);
    const known = type.isUnion() ? null : this.known(type);
    if (known === null || known[0].space !== "") return;
    this.add(callee, { kind: "call", name: this.shown(callee), type: known[0].type });
  }

  notIterable(one) {
    const { ts, checker, places } = this;
    let node = this.node(one);
    const end = one.start + one.length;
    while (node.parent !== undefined && node.end < end) node = node.parent;
    while (node.parent !== undefined && node.parent.getStart() === one.start && node.parent.end === end) {
      node = node.parent;
    }
    if (ts.isArrayBindingPattern(node)) node = node.parent.initializer; // the value that it takes apart
    if (node === undefined || !ts.isExpression(node)) return;
    if (places.isMeant(node) || places.isLoose(node)) return;
    const type = checker.getTypeAtLocation(node);
    const known = type.isUnion() ? null : this.known(type);
    if (known === null) return;
    const call = known[0].type === "Promise" ? this.called(node) : "";
    this.add(node, { kind: "iterate", name: this.shown(node), type: known[0].type, call });
  }

  // -- what the compiler lets pass --------------------------------------------------------------

  walk(root) {
    const { ts } = this;
    const waiting = [root];
    while (waiting.length > 0) {
      const node = waiting.pop();
      this.look(node);
      ts.forEachChild(node, child => void waiting.push(child));
    }
  }

  look(node) {
    const { ts, checker } = this;
    if (ts.isTemplateSpan(node)) this.promised(node.expression, "text");
    else if (ts.isBinaryExpression(node)) this.binary(node);
    else if (ts.isPrefixUnaryExpression(node)) {
      if (node.operator !== ts.SyntaxKind.ExclamationToken) this.promised(node.operand, "operand");
      else this.condition(node.operand);
    } else if (ts.isElementAccessExpression(node)) this.promised(node.argumentExpression, "operand");
    else if (ts.isIfStatement(node) || ts.isWhileStatement(node)) this.condition(node.expression);
    else if (ts.isConditionalExpression(node)) this.condition(node.condition);
    else if (ts.isCallExpression(node)) this.call(node);
    else if (ts.isPropertyAccessExpression(node)) {
      const type = checker.getTypeAtLocation(node);
      if (type.flags & ts.TypeFlags.Any) this.ofWritten(node);
    }
  }

  // A member of an object that the cell writes: the compiler lets code add to such an object.
  ofWritten(node) {
    const { ts, checker } = this;
    const type = checker.getTypeAtLocation(node.expression);
    if (type.isUnion() || !(type.flags & ts.TypeFlags.Object)) return;
    const place = type.symbol?.declarations?.[0];
    if (place === undefined || !ts.isObjectLiteralExpression(place)) return;
    if (checker.getPropertyOfType(type, node.name.text) !== undefined) return;
    this.lacks(node, node.expression, type, node.name);
  }

  binary(node) {
    const { ts } = this;
    const kind = node.operatorToken.kind;
    const K = ts.SyntaxKind;
    const takes = [
      K.PlusToken, K.MinusToken, K.AsteriskToken, K.SlashToken, K.PercentToken,
      K.AsteriskAsteriskToken, K.LessThanToken, K.LessThanEqualsToken, K.GreaterThanToken,
      K.GreaterThanEqualsToken, K.PlusEqualsToken, K.MinusEqualsToken, K.AsteriskEqualsToken,
    ];
    const compares = [
      K.EqualsEqualsToken, K.EqualsEqualsEqualsToken, K.ExclamationEqualsToken,
      K.ExclamationEqualsEqualsToken,
    ];
    if (takes.includes(kind)) {
      this.promised(node.left, "operand");
      this.promised(node.right, "operand");
    } else if (compares.includes(kind)) {
      this.condition(node.left);
      this.condition(node.right);
    } else if (kind === K.AmpersandAmpersandToken || kind === K.BarBarToken) {
      this.condition(node.left);
    }
  }

  // A call of a function on offer whose answer is compared at once.
  condition(node) {
    const inner = this.bare(node);
    if (this.ts.isCallExpression(inner) && this.declaredCall(inner) !== null) {
      this.promised(inner, "condition");
    }
  }

  bare(node) {
    let at = node;
    while (this.ts.isParenthesizedExpression(at)) at = at.expression;
    return at;
  }

  promised(node, use) {
    const { ts, checker, places } = this;
    if (node === undefined || ts.isLiteralExpression(node) || ts.isBinaryExpression(node)) return;
    if (!this.isPromise(checker.getTypeAtLocation(node))) return;
    if (places.isMeant(node) || places.isLoose(node)) return;
    this.add(node, { kind: "promise", name: this.shown(node), use, call: this.called(node) });
  }

  isPromise(type) {
    const place = type.symbol?.declarations?.[0];
    return type.symbol?.name === "Promise" && this.library.has(place?.getSourceFile()) &&
      type.flags & this.ts.TypeFlags.Object && type.getProperty("then") !== undefined;
  }

  call(node) {
    const { ts, places } = this;
    const callee = node.expression.getText();
    if (callee === "require" && !this.isDeclared(node.expression)) this.missingName(node.expression);
    if (READERS.has(callee) || callee === "JSON.stringify") {
      for (const part of this.parts(node.arguments[0])) this.promised(part, "text");
    }
    const place = this.declaredCall(node);
    if (place === null || places.isMeant(node)) return;
    const isAwaited = ts.isAwaitExpression(node.parent);
    if (places.handlesErrors && !isAwaited) return;
    const path = declaredPath(ts, place);
    const given = node.arguments;
    if (path === null || given.some(one => ts.isSpreadElement(one)) || given.length === 0) return;
    if (places.isLoose(given[0])) return;
    const value = this.inputs.value(given[0], this.inputs.wanted(place));
    if (value !== null) this.add(node, { kind: "input", name: path, value });
  }

  isDeclared(name) {
    return this.checker.getSymbolAtLocation(name)?.declarations !== undefined;
  }

  // The node that declares the function on offer that is called; `null` for other functions.
  declaredCall(node) {
    const { ts } = this;
    const place = this.checker.getResolvedSignature(node)?.declaration;
    if (place === undefined || place.getSourceFile() !== this.declared) return null;
    return ts.isMethodSignature(place) || ts.isFunctionDeclaration(place) ? place : null;
  }

  // A value and the values written in it.
  parts(node) {
    const { ts } = this;
    if (node === undefined) return [];
    if (ts.isArrayLiteralExpression(node)) return node.elements.filter(ts.isExpression);
    if (!ts.isObjectLiteralExpression(node)) return [node];
    return node.properties.flatMap(one => {
      if (ts.isPropertyAssignment(one)) return this.parts(one.initializer);
      return ts.isShorthandPropertyAssignment(one) ? [one.name] : [];
    });
  }

  // The function on offer whose promise an expression is; empty if that is not seen.
  called(node) {
    const { ts } = this;
    let at = this.bare(node);
    if (ts.isIdentifier(at)) {
      const place = this.checker.getSymbolAtLocation(at)?.valueDeclaration;
      if (place === undefined || !ts.isVariableDeclaration(place)) return "";
      at = place.initializer && this.bare(place.initializer);
    }
    if (at === undefined || !ts.isCallExpression(at)) return "";
    const place = this.declaredCall(at);
    return (place !== null && declaredPath(ts, place)) || "";
  }

  shown(node) {
    const text = node.getText().replace(/\s+/g, " ");
    return text.length <= CHARS ? text : `${text.slice(0, CHARS - 1)}…`;
  }
}
