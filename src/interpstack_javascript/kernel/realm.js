  // -- state of the realm and of the running cell ------------------------------------------

  const limits = { __proto__: null, consoleChars: 4000, valueChars: 16777216, renderChars: 65536, timers: 1000, requests: null,
    tooMany: "CallBudgetExceeded", tooManyText: "", noModule: "ModuleNotFound" }; // a stored state has the others
  const roots = table();      // first parts of bridge names -> what the guest sees there
  const guarded = table();    // those whose global the guest cannot change
  const builtin = table();    // globals of the host -> what they were at first; of a bridge, null
  let clock = 0;              // what the next reading of the time shows, in ms
  let hostTime = 0;           // host time in ms as of the last poll
  let origin = 0;             // host time when the cell began
  let active = false;         // a cell runs; requests are accepted
  let accepting = false;      // calls are accepted: a cell runs, or the host waits for requests it left open
  let lastId = 0;             // of a request or timer; unique in the realm, for code may keep those of timers
  let before = -1;            // that of the cell's first request, less 1: the host counts from 1 in each cell
  let pending = table();      // id -> {resolve, reject, site} or {callback}
  let openTimers = 0;
  let requested = 0, uncounted = 0, called = 0, imported = 0; // by the running cell
  let calls = list(), requests = list(), ids = list(), cancelled = list(); // JSON texts, since the last drain
  let drains = 0;             // how often that was
  let completion = "";        // JSON text, once the cell has ended
  let findFault = () => undefined; // places of syntax errors, from an engine
  let unhandled;              // {forget(), reasons(), leave?(reason)} of an engine that tracks rejected promises without handlers
  let script = "", label = ""; // the engine's name for cells in stack traces, and the one to show
  let importing = 0;          // modules that the running cell waits for
  let engineModules;          // {entryOf(specifier), isRefusal(error), meta()} of an engine that finds modules by itself
  let cell = 0;               // number of the running cell; what belongs to earlier ones is stale

