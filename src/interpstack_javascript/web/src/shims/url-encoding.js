// whatwg-url/lib/encoding.js expects global TextEncoder and TextDecoder, which are only being built here.
export { utf8fromStringLoose as utf8Encode, utf8toStringLoose as utf8DecodeWithoutBOM } from "@exodus/bytes/utf8.js";
