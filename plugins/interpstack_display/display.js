(kernel) => {
  "use strict";
  const { define, request } = kernel;
  // Not counted among the requests of the cell, as the bridge says: it has a budget of its own.
  define("display", (value, options) => request("display", [value, options], '"display"', false));
}
