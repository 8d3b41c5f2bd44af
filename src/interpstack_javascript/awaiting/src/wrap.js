// The statements of a cell move into an async function, on the same lines. What they declare with
// `var` is declared outside and assigned inside, so that it stays a global; functions are copied
// to globals before the first statement runs. The value of the last expression statement that ran
// is kept, as a script would keep it. No `let`, `const` or `class` is left at the top level.
import { parse } from "./parser.js";

const VALUE = "$cellValue"; // variable of the function that keeps the value of the cell
const BREAK = /\r\n|[\n\r\u2028\u2029]/;
const MOST_SHIFTS = 20000;
// Nodes with a scope of their own for `await`, `var` and `return`.
const INNER = new Set(["ArrowFunctionExpression", "ClassBody", "FunctionDeclaration", "FunctionExpression"]);

// A script whose value is a promise of `{value}`; an empty text if the source awaits nothing. A source
// that declares one of the names in `locked`, globals that would ignore it, becomes one that says so.
// Its shifts lead from places in the script to those in the source; see `kernel/places.js`.
export function wrapAwaiting(source, locked) {
  const found = { awaits: false, returns: false, strict: false, names: new Set(), functions: [], all: [], last: null };
  try {
    parse(source, (statement, strict) => take(statement, strict, found, source));
  } catch (error) {
    if (!/\bawait\b/.test(source)) return unshifted("");
    if (error instanceof RangeError) return unshifted(`throw new RangeError("Maximum call stack size exceeded")`);
    return unshifted(`(async () => {${source}\n})()`); // V8 is to report it
  }
  const taken = locked.find((name) => found.names.has(name) || found.functions.includes(name));
  if (taken) return unshifted(`throw new TypeError("${taken} is reserved by the interpreter; use another name")`);
  if (!found.awaits) return unshifted("");
  if (found.returns) return unshifted(`throw new SyntaxError("Illegal return statement")`);
  const declared = new Set([...found.names, ...found.functions]);
  const names = declared.size ? `var ${[...declared].join(", ")}; ` : "";
  const strict = found.strict ? `"use strict"; ` : "";
  const functions = found.functions.map((name) => `this.${name} = ${name}; `).join("");
  const edits = [[0, 0, `${names}(async () => { ${strict}let ${VALUE}; ${functions}`], ...allEdits(found)];
  const script = `${edited(source, edits)}\nreturn {__proto__: null, value: ${VALUE}}; })()`;
  return { script, shifts: shiftsOf(source, edits) };
}

const unshifted = (script) => ({ script, shifts: "" });

function take(statement, strict, found, source) {
  found.strict ||= strict;
  if (statement.type === "FunctionDeclaration") found.functions.push(nameOf(statement.id, source));
  found.edits = [];
  lookAt(statement, found, source);
  found.edits.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  // The value of an expression at the top level does not matter if another one follows there.
  if (statement.type === "ExpressionStatement") found.last = { edits: found.edits, at: found.all.length };
  else for (const edit of found.edits) found.all.push(edit);
}

function lookAt(statement, found, source) {
  const waiting = [statement];
  while (waiting.length) {
    const node = waiting.pop();
    if (!node) continue; // a hole in an array
    visit(node, found, source);
    if (!INNER.has(node.type)) pushChildren(node, waiting);
  }
}

function allEdits({ all, last }) {
  if (last) all.splice(last.at, 0, ...last.edits);
  return all;
}

function pushChildren(node, waiting) {
  for (const key in node) {
    const child = node[key];
    if (Array.isArray(child)) {
      if (typeof child[0] !== "string") pushAll(child, waiting);
    } else if (child && typeof child.type === "string") waiting.push(child);
  }
}

// In their order, the first on top; never as arguments, of which there can be too many.
function pushAll(nodes, waiting) {
  for (let i = nodes.length - 1; i >= 0; i--) waiting.push(nodes[i]);
}

function visit(node, found, source) {
  switch (node.type) {
    case "AwaitExpression": found.awaits = true; break;
    case "Identifier": if (node.name === "await") found.awaits = true; break;
    case "ReturnStatement": found.returns = true; break;
    case "ForStatement": if (node.init?.type === "VariableDeclaration") assign(node.init, found, source, true); break;
    case "ForInStatement": loop(node, found, source); break;
    case "ForOfStatement": found.awaits ||= node.await; loop(node, found, source); break;
    case "VariableDeclaration": if (!node.seen) assign(node, found, source, false); break;
    case "ExpressionStatement":
      found.edits.push([node.start, node.start, `${VALUE} = (`], closing(node, source));
  }
}

// `for (var x of xs)` assigns to `x`.
function loop({ left }, found, source) {
  if (left.type !== "VariableDeclaration") return;
  left.seen = true;
  found.awaits ||= left.kind === "await using";
  if (left.kind !== "var") return;
  found.edits.push([left.start, left.start + 3, ""]);
  for (const { id } of left.declarations) bind(id, found, source);
}

// `var a = 1, {b} = c, d;` becomes `void (a = 1, {b} = c, 0);`.
function assign(node, found, source, inHead) {
  node.seen = true;
  found.awaits ||= node.kind === "await using";
  if (node.kind !== "var") return;
  found.edits.push([node.start, node.start + 3, "void ("]);
  for (const { id, init } of node.declarations) {
    bind(id, found, source);
    if (!init) found.edits.push([id.start, id.end, "0"]);
    else if (id.type === "ArrayPattern") found.edits.push(...valueAsFault(id, init, source));
  }
  found.edits.push(inHead ? [node.end, node.end, ")"] : closing(node, source));
}

// V8 finds a value that cannot be iterated at the value of a declaration, and at the sign of an assignment.
function valueAsFault(id, init, source) {
  const sign = source.indexOf("=", id.end);
  return BREAK.test(source.slice(sign, init.start)) ? [] : [[sign, sign + 1, "=", init.start]];
}

// A bracket and a semicolon at the end of a statement that may have none.
const closing = ({ end }, source) => [source[end - 1] === ";" ? end - 1 : end, end, ");"];

// Names that a pattern declares, as the source writes them.
function bind(pattern, found, source) {
  const waiting = [pattern];
  while (waiting.length) {
    const node = waiting.pop();
    if (!node) continue; // a hole in an array
    switch (node.type) {
      case "Identifier": found.names.add(nameOf(node, source)); break;
      case "ArrayPattern": pushAll(node.elements, waiting); break;
      case "ObjectPattern": pushAll(node.properties, waiting); break;
      case "Property": waiting.push(node.value); break;
      case "AssignmentPattern": waiting.push(node.left); break;
      case "RestElement": waiting.push(node.argument);
    }
  }
}

const nameOf = ({ start, end }, source) => source.slice(start, end);

function edited(source, edits) {
  const parts = [];
  let at = 0;
  for (const [start, end, text] of edits) {
    parts.push(source.slice(at, start), text);
    at = end;
  }
  return parts.join("") + source.slice(at);
}

// Where each part begins and ends, now and as written; the fourth of an edit is the place to tell of it
// instead of its start. No edit holds a line break. Of too many, engines keep none.
function shiftsOf(source, edits) {
  if (edits.length > MOST_SHIFTS) return "null";
  const breaks = new RegExp(BREAK, "g"), shifts = [];
  let line = 1, begins = 0, following = breaks.exec(source), grown = 0;
  for (const [start, end, text, told = start] of edits) {
    while (following && following.index < start) {
      line++;
      begins = breaks.lastIndex;
      following = breaks.exec(source);
      grown = 0;
    }
    const made = start - begins + grown;
    shifts.push(line, made, made + text.length, told - begins, end - begins);
    grown += text.length - (end - start);
  }
  for (; following; following = breaks.exec(source)) line++;
  return `[${line},${shifts}]`;
}
