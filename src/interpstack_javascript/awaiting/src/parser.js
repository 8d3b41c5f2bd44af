// acorn, in linear time: V8 compiles the result, and makes the checks that are left out here.
import { Parser, tokTypes } from "acorn";

class CellParser extends Parser {
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

export const parse = (source) => CellParser.parse(source, {
  ecmaVersion: "latest",
  sourceType: "script",
  allowAwaitOutsideFunction: true,
  allowReturnOutsideFunction: true,
  allowSuperOutsideMethod: true,
  checkPrivateFields: false,
});
