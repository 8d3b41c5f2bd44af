// Runs once in each new realm, before any cell. What it needs later it captures now: cells run in
// the same realm and can replace every global.
(kernel) => {
  "use strict";
  const { call, define, inspect } = kernel;
  const slice = Function.prototype.call.bind(String.prototype.slice);
  const RangeErrorClass = RangeError;
  define("progress", function progress(fraction, note = "") {
    if (!(fraction >= 0 && fraction <= 1)) throw new RangeErrorClass("progress takes a fraction from 0 to 1");
    const text = typeof note === "string" ? note : inspect(note, { chars: 200 });
    call("example.progress", { fraction: +fraction, note: slice(text, 0, 200) });
  });
}
