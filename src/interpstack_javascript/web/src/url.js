// URL and URLSearchParams of whatwg-url, installed on a private object instead of the real global one.
import wrappers from "whatwg-url/webidl2js-wrapper.js";

export const realm = { Array, Object, String, TypeError };
wrappers.URL.install(realm, ["Window"]);
wrappers.URLSearchParams.install(realm, ["Window"]);
