(kernel) => {
  "use strict";
  const { define, request } = kernel;
  define("display", (value, options) => request("display", [value, options]));
}
