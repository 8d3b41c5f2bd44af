// The literal that a module exports as `meta`, read without running the module.
import { parse, getLineInfo } from "acorn";

class Fault extends Error {
  constructor(message, node) {
    super(message);
    this.node = node;
  }
}

const PURE = "meta takes a literal: objects, arrays, strings, numbers, true, false and null; ";
const fault = (what, node) => { throw new Fault(PURE + what + " is none", node); };

function valueOf(node) {
  switch (node.type) {
    case "Literal":
      if (node.regex !== undefined) fault("a regular expression", node);
      if (node.bigint !== undefined) fault("a BigInt", node);
      if (node.value === Infinity) fault("a number that is too large", node);
      return node.value;
    case "TemplateLiteral": return fault("a template", node);
    case "UnaryExpression": {
      const { argument, operator } = node;
      if ((operator === "-" || operator === "+") && argument.type === "Literal" && typeof argument.value === "number")
        return operator === "-" ? -valueOf(argument) : valueOf(argument);
      return fault("an expression", node);
    }
    case "ArrayExpression":
      return node.elements.map((element) => {
        if (element === null) fault("a hole in an array", node);
        if (element.type === "SpreadElement") fault("a spread", element);
        return valueOf(element);
      });
    case "ObjectExpression": {
      const result = Object.create(null);
      for (const property of node.properties) {
        if (property.type === "SpreadElement") fault("a spread", property);
        if (property.computed) fault("a computed key", property.key);
        if (property.shorthand || property.method || property.kind !== "init") fault("a method or a shorthand", property);
        const key = property.key.type === "Identifier" ? property.key.name : String(property.key.value);
        result[key] = valueOf(property.value);
      }
      return result;
    }
    case "Identifier": return fault(`the name ${node.name.slice(0, 60)}`, node);
    default: return fault("an expression", node);
  }
}

function metaOf(program) {
  for (const statement of program.body) {
    if (statement.type !== "ExportNamedDeclaration" || statement.declaration?.type !== "VariableDeclaration") continue;
    for (const declarator of statement.declaration.declarations) {
      if (declarator.id.type !== "Identifier" || declarator.id.name !== "meta") continue;
      if (statement.declaration.kind !== "const") throw new Fault("meta must be exported as a const", statement);
      return declarator.init;
    }
  }
  return undefined;
}

export function readMetadata(source) {
  const at = (offset) => {
    const { line, column } = getLineInfo(source, offset);
    return { line, column: column + 1 };
  };
  try {
    const program = parse(source, { ecmaVersion: "latest", sourceType: "module", allowHashBang: true });
    const literal = metaOf(program);
    if (literal === undefined) return { fault: "the module has no `export const meta = {…}`", line: 0, column: 0 };
    if (literal.type !== "ObjectExpression") throw new Fault("meta must be an object literal", literal);
    return { value: valueOf(literal), ...at(literal.start) };
  } catch (error) {
    if (error instanceof Fault) return { fault: error.message, ...at(error.node.start) };
    if (error instanceof SyntaxError && error.pos !== undefined)
      return { fault: "the module does not parse: " + error.message.replace(/ \(\d+:\d+\)$/, ""), ...at(error.pos) };
    if (error instanceof RangeError) return { fault: "the module is nested too deeply", line: 0, column: 0 };
    throw error;
  }
}
