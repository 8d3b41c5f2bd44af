// TextEncoder and TextDecoder of @exodus/bytes, with the few details that differ from the standard put right.
import {
  TextDecoder as BaseDecoder,
  TextEncoder as BaseEncoder,
  normalizeEncoding,
} from "@exodus/bytes/encoding-lite.js";
import { isMultibyte } from "../node_modules/@exodus/bytes/fallback/encoding.js";
import { expose } from "./events.js";

function dictionary(value) {
  if (value === undefined || value === null) return {};
  if (typeof value !== "object" && typeof value !== "function") throw new TypeError("The options must be an object");
  return { fatal: value.fatal, ignoreBOM: value.ignoreBOM, stream: value.stream };
}

export function createEncoding() {
  class TextDecoder {
    #base;

    constructor(label = "utf-8", options = undefined) {
      label = `${label}`;
      // The legacy multi-byte encodings would need 150 KB of tables.
      const name = normalizeEncoding(label);
      if (!name || isMultibyte(name)) throw new RangeError(`The encoding label provided ('${label}') is invalid`);
      this.#base = new BaseDecoder(label, dictionary(options));
    }

    get encoding() {
      return this.#base.encoding;
    }

    get fatal() {
      return this.#base.fatal;
    }

    get ignoreBOM() {
      return this.#base.ignoreBOM;
    }

    decode(input = undefined, options = undefined) {
      return this.#base.decode(input, dictionary(options));
    }
  }

  class TextEncoder {
    #base = new BaseEncoder();

    get encoding() {
      return this.#base.encoding;
    }

    encode(input = "") {
      return this.#base.encode(`${input}`);
    }

    encodeInto(source, destination) {
      if (arguments.length < 2) throw new TypeError("2 arguments required");
      return this.#base.encodeInto(`${source}`, destination);
    }
  }

  expose(TextDecoder, "TextDecoder");
  expose(TextEncoder, "TextEncoder");
  return { TextDecoder, TextEncoder };
}
