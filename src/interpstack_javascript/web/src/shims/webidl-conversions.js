// The part of webidl-conversions that whatwg-url uses.
const { String: ToString } = globalThis;

export function DOMString(value, options = {}) {
  if (typeof value === "symbol") {
    throw new TypeError(`${options.context ?? "Value"} is a symbol, which cannot be converted to a string.`);
  }
  return ToString(value);
}

export function USVString(value, options) {
  return DOMString(value, options).toWellFormed();
}

export const any = value => value;
