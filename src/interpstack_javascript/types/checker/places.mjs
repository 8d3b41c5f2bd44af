// Where a fault may be meant, or cannot happen: what the code asks about first, what catches
// errors, and what is never run.

const HANDLERS = /\bcatch\b|\ballSettled\b|\.\s*(?:any|race)\b/;
const CATCHING = new Set(["catch", "allSettled", "any", "race"]);
// Words of code that may make variables without declaring them, and members without naming them.
const UNSEEN_NAMES = /\beval\b|\bFunction\b|\bwith\s*\(/;
const UNSEEN_MEMBERS = /\bassign\b|\bdefineProper|\bsetPrototypeOf\b|__proto__|\bReflect\b|\beval\b|\bwith\s*\(/;
const NAMES = /^[A-Za-z_$][\w$]*$/;

export class Places {
  constructor(ts, made, added) {
    Object.assign(this, { ts, ...made });
    this.dead = [];
    this.loose = new Set();
    this.looseNodes = new Set();
    this.added = new Set(added);
    this.assigned = new Set();
    this.asked = new Set();
    this.mentions = new Map();
    this.runs = new Map();
    const text = this.file.text;
    this.handlesErrors = HANDLERS.test(text);
    this.hasUnseenNames = UNSEEN_NAMES.test(text);
    this.hasUnseenMembers = UNSEEN_MEMBERS.test(text);
    const waiting = [this.file];
    while (waiting.length > 0) {
      const node = waiting.pop();
      this.note(node);
      ts.forEachChild(node, child => void waiting.push(child));
    }
  }

  note(node) {
    const { ts } = this;
    const K = ts.SyntaxKind;
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) {
      this.mention(node.text, node);
      if (this.isTested(node)) this.asked.add(node.text);
    } else if (ts.isStringLiteralLike(node)) {
      if (NAMES.test(node.text)) {
        this.mention(node.text, node);
        const isMember = ts.isElementAccessExpression(node.parent);
        const isKey = ts.isPropertyName(node) && node.parent.name === node;
        if (!isMember && !isKey) this.asked.add(node.text);
      }
    } else if (ts.isBinaryExpression(node) && this.isAssignment(node)) {
      this.assign(node.left);
    } else if (ts.isPrefixUnaryExpression(node) || ts.isPostfixUnaryExpression(node)) {
      const { operator } = node;
      if (operator === K.PlusPlusToken || operator === K.MinusMinusToken) this.assign(node.operand);
    } else if (ts.isForOfStatement(node) || ts.isForInStatement(node)) {
      if (ts.isExpression(node.initializer)) this.assign(node.initializer);
    } else if (ts.isDeleteExpression(node)) {
      this.assign(node.expression);
    }
  }

  mention(name, node) {
    const found = this.mentions.get(name);
    if (found === undefined) this.mentions.set(name, [node]);
    else found.push(node);
  }

  isAssignment({ operatorToken: { kind } }) {
    const K = this.ts.SyntaxKind;
    return kind >= K.FirstAssignment && kind <= K.LastAssignment;
  }

  assign(target) {
    const { ts } = this;
    if (ts.isIdentifier(target)) this.assigned.add(target.text);
    else if (ts.isPropertyAccessExpression(target)) {
      const holder = target.expression;
      const isGlobal = holder.kind === ts.SyntaxKind.ThisKeyword || holder.getText() === "globalThis";
      (isGlobal ? this.assigned : this.added).add(target.name.text);
      this.added.add(target.name.text);
    }
    else if (ts.isElementAccessExpression(target)) {
      const key = target.argumentExpression;
      if (ts.isStringLiteralLike(key)) this.added.add(key.text);
      else if (!ts.isNumericLiteral(key)) this.hasUnseenMembers = true;
    } else if (ts.isArrayLiteralExpression(target)) target.elements.forEach(one => this.assign(one));
    else if (ts.isObjectLiteralExpression(target)) {
      for (const one of target.properties) {
        if (ts.isShorthandPropertyAssignment(one)) this.assign(one.name);
        else if (ts.isPropertyAssignment(one)) this.assign(one.initializer);
        else if (ts.isSpreadAssignment(one)) this.assign(one.expression);
      }
    } else if (ts.isParenthesizedExpression(target) || ts.isSpreadElement(target)) {
      this.assign(target.expression);
    } else if (ts.isBinaryExpression(target)) this.assign(target.left);
  }

  // Whether the cell asks whether a name or member is there.
  isAskedAbout(name) {
    return this.asked.has(name) || this.added.has(name);
  }

  // Whether a name stands where it is tested, and not used.
  isTested(node) {
    const { ts } = this;
    const whole = ts.isPropertyAccessExpression(node.parent) && node.parent.name === node
      ? node.parent
      : node;
    return this.isGuarded(whole);
  }

  // Whether the code goes on where a value is not there.
  isGuarded(node) {
    const { ts } = this;
    const K = ts.SyntaxKind;
    let at = node;
    while (ts.isParenthesizedExpression(at.parent)) at = at.parent;
    const parent = at.parent;
    if (ts.isBindingElement(node)) return node.initializer !== undefined;
    if (ts.isTypeOfExpression(parent) || ts.isDeleteExpression(parent)) return true;
    if (parent.questionDotToken !== undefined && parent.expression === at) return true;
    if (ts.isIfStatement(parent) || ts.isWhileStatement(parent) || ts.isDoStatement(parent)) {
      return parent.expression === at;
    }
    if (ts.isConditionalExpression(parent)) return parent.condition === at;
    if (ts.isPrefixUnaryExpression(parent)) return parent.operator === K.ExclamationToken;
    if (ts.isCallExpression(parent)) {
      return parent.expression.getText() === "Boolean" && parent.arguments[0] === at;
    }
    if (!ts.isBinaryExpression(parent)) return false;
    const kind = parent.operatorToken.kind;
    if (this.isAssignment(parent)) return parent.left === at;
    if ([K.BarBarToken, K.QuestionQuestionToken, K.AmpersandAmpersandToken].includes(kind)) {
      return parent.left === at;
    }
    if (kind === K.InKeyword || kind === K.InstanceOfKeyword) return true;
    const other = parent.left === at ? parent.right : parent.left;
    const isNothing = other.kind === K.NullKeyword || other.getText() === "undefined";
    return isNothing && [
      K.EqualsEqualsToken, K.EqualsEqualsEqualsToken,
      K.ExclamationEqualsToken, K.ExclamationEqualsEqualsToken,
    ].includes(kind);
  }

  // Whether a value comes from a variable that may hold anything.
  isLoose(node) {
    if (this.loose.size === 0 && this.looseNodes.size === 0) return false;
    const { ts } = this;
    let is = false;
    const look = one => {
      if (this.looseNodes.has(one)) is = true;
      else if (ts.isIdentifier(one) && this.loose.has(this.checker.getSymbolAtLocation(one))) is = true;
      else ts.forEachChild(one, look);
    };
    look(node);
    return is;
  }

  // Whether an error there may be meant, or cannot happen in this cell.
  isMeant(node) {
    const { ts } = this;
    const start = node.getStart();
    if (this.dead.some(([from, to]) => from <= start && start < to)) return true;
    for (let at = node; at.parent !== undefined; at = at.parent) {
      const parent = at.parent;
      if (ts.isTryStatement(parent) && at === parent.tryBlock && parent.catchClause) return true;
      if (ts.isCallExpression(parent) && this.catches(parent)) return true;
      if (this.isSkipped(parent, at)) return true;
      if (ts.isFunctionLike(parent) || ts.isPropertyDeclaration(parent)) {
        if (this.handlesErrors || !this.isRun(parent)) return true;
      }
    }
    return false;
  }

  catches(call) {
    const { ts } = this;
    const callee = call.expression;
    if (!ts.isPropertyAccessExpression(callee)) return false;
    if (CATCHING.has(callee.name.text)) return true;
    return callee.name.text === "then" && call.arguments.length > 1;
  }

  // Whether a constant says that a part does not run.
  isSkipped(parent, part) {
    const { ts } = this;
    const K = ts.SyntaxKind;
    if (ts.isBinaryExpression(parent) && part === parent.right) {
      const { kind } = parent.left;
      if (parent.operatorToken.kind === K.AmpersandAmpersandToken) return kind === K.FalseKeyword;
      if (parent.operatorToken.kind === K.BarBarToken) return kind === K.TrueKeyword;
    }
    if (!ts.isConditionalExpression(parent)) return false;
    const { kind } = parent.condition;
    if (part === parent.whenTrue) return kind === K.FalseKeyword;
    return part === parent.whenFalse && kind === K.TrueKeyword;
  }

  // Whether a function may be run by this cell.
  isRun(owner) {
    const known = this.runs.get(owner);
    if (known !== undefined) return known;
    this.runs.set(owner, false); // where functions only name each other
    const is = this.isUsed(owner);
    this.runs.set(owner, is);
    return is;
  }

  isUsed(owner) {
    const { ts } = this;
    if (ts.isPropertyDeclaration(owner) || ts.isConstructorDeclaration(owner)) {
      return owner.parent.name === undefined || this.isNamed(owner.parent.name, owner);
    }
    if (owner.name !== undefined && !ts.isFunctionExpression(owner)) {
      return this.isNamed(owner.name, owner);
    }
    let at = owner;
    while (ts.isParenthesizedExpression(at.parent)) at = at.parent;
    const parent = at.parent;
    if (ts.isCallExpression(parent) || ts.isNewExpression(parent)) return true;
    if (ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent)) {
      return this.isNamed(parent.name, owner);
    }
    if (ts.isBinaryExpression(parent) && this.isAssignment(parent)) {
      const target = parent.left;
      return this.isNamed(ts.isPropertyAccessExpression(target) ? target.name : target, owner);
    }
    return false;
  }

  isNamed(name, owner) {
    const { text } = name;
    if (text === undefined) return false;
    const uses = this.mentions.get(text) ?? [];
    return uses.some(one => {
      if (one === name || (one.pos >= owner.pos && one.end <= owner.end)) return false;
      for (let at = one.parent; at !== undefined; at = at.parent) {
        if (this.ts.isFunctionLike(at)) return this.isRun(at);
      }
      return true;
    });
  }
}
