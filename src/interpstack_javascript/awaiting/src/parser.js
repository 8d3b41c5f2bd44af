// acorn, in linear time: V8 compiles the result, and makes the checks that are left out here.
import { Parser, tokTypes } from "acorn";

class CellParser extends Parser {
  // One statement at a time: keeping the tree of a whole source costs more than parsing it.
  parseTopLevel(root) {
    const exported = Object.create(null);
    for (let first = true; this.type !== tokTypes.eof;) {
      const statement = this.parseStatement(null, true, exported);
      first &&= this.isDirectiveCandidate(statement);
      this.take(statement, first && statement.expression.raw.slice(1, -1) === "use strict");
    }
    return root;
  }
  declareName() {}
  catchStackOverflow(parse) { return parse(); } // which is told as what it is
  strictDirective() { return false; }
  validateRegExpFlags() {}
  validateRegExpPattern() {}
  // Which operator binds tighter does not matter here, only what stands between them.
  parseExprOp(left, start, location, minPrecedence, forInit) {
    if (!this.isOperator(forInit)) return left;
    const node = this.startNodeAt(start, location);
    node.operands = [left];
    while (this.isOperator(forInit)) {
      this.next();
      node.operands.push(this.parseMaybeUnary(null, false, false, forInit));
    }
    return this.finishNode(node, "Operation");
  }
  isOperator(forInit) {
    return this.type.binop != null && !(forInit && this.type === tokTypes._in);
  }
}

// Calls `take` with each statement of the top level, and whether it makes the source strict.
export function parse(source, take) {
  const parser = new CellParser({
    ecmaVersion: "latest",
    sourceType: "script",
    allowAwaitOutsideFunction: true,
    allowReturnOutsideFunction: true,
    allowSuperOutsideMethod: true,
    checkPrivateFields: false,
  }, source);
  parser.take = take;
  parser.parse();
}
