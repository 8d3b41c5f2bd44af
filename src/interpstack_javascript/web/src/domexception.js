// DOMException, for engines that lack it.
export function createDOMException() {
  const codes = {
    IndexSizeError: 1, HierarchyRequestError: 3, WrongDocumentError: 4, InvalidCharacterError: 5,
    NoModificationAllowedError: 7, NotFoundError: 8, NotSupportedError: 9, InUseAttributeError: 10,
    InvalidStateError: 11, SyntaxError: 12, InvalidModificationError: 13, NamespaceError: 14,
    InvalidAccessError: 15, TypeMismatchError: 17, SecurityError: 18, NetworkError: 19, AbortError: 20,
    URLMismatchError: 21, QuotaExceededError: 22, TimeoutError: 23, InvalidNodeTypeError: 24, DataCloneError: 25,
  };
  const constants = [
    "INDEX_SIZE_ERR", "DOMSTRING_SIZE_ERR", "HIERARCHY_REQUEST_ERR", "WRONG_DOCUMENT_ERR", "INVALID_CHARACTER_ERR",
    "NO_DATA_ALLOWED_ERR", "NO_MODIFICATION_ALLOWED_ERR", "NOT_FOUND_ERR", "NOT_SUPPORTED_ERR",
    "INUSE_ATTRIBUTE_ERR", "INVALID_STATE_ERR", "SYNTAX_ERR", "INVALID_MODIFICATION_ERR", "NAMESPACE_ERR",
    "INVALID_ACCESS_ERR", "VALIDATION_ERR", "TYPE_MISMATCH_ERR", "SECURITY_ERR", "NETWORK_ERR", "ABORT_ERR",
    "URL_MISMATCH_ERR", "QUOTA_EXCEEDED_ERR", "TIMEOUT_ERR", "INVALID_NODE_TYPE_ERR", "DATA_CLONE_ERR",
  ];

  class DOMException {
    #message;
    #name;

    constructor(message = "", name = "Error") {
      this.#message = `${message}`;
      this.#name = `${name}`;
      const { stack } = new Error(this.#message);
      if (stack !== undefined) {
        const value = `${stack}`.replace(/^Error(?=:|\n|$)/, () => this.#name);
        Object.defineProperty(this, "stack", { value, writable: true, configurable: true });
      }
    }

    get name() {
      return this.#name;
    }

    get message() {
      return this.#message;
    }

    get code() {
      return Object.hasOwn(codes, this.#name) ? codes[this.#name] : 0;
    }
  }

  const { prototype } = DOMException;
  Object.setPrototypeOf(prototype, Error.prototype);
  for (const name of ["name", "message", "code"]) Object.defineProperty(prototype, name, { enumerable: true });
  Object.defineProperty(prototype, Symbol.toStringTag, { value: "DOMException", configurable: true });
  constants.forEach((name, i) => {
    for (const owner of [DOMException, prototype]) {
      Object.defineProperty(owner, name, { value: i + 1, enumerable: true });
    }
  });
  return DOMException;
}
