// @exodus/bytes/whatwg.js without the legacy encodings: the URL API only ever asks for UTF-8.
import { utf8fromStringLoose } from "@exodus/bytes/utf8.js";
import { percentEncoder } from "../../node_modules/@exodus/bytes/fallback/percent.js";

export function percentEncodeAfterEncoding(encoding, input, percentEncodeSet, spaceAsPlus = false) {
  return percentEncoder(percentEncodeSet, spaceAsPlus)(utf8fromStringLoose(input));
}
