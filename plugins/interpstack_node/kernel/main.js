// The main program of a kernel process: it reads commands of the host, enters the guest's context,
// and sends back what the guest's side of the engine protocol says.
//
// A context of `vm` with a queue of jobs of its own holds the guest. Every entry runs inside a script
// that SIGINT ends, and no job of the guest runs outside an entry. Nothing of this realm is handed to
// the guest, and should a guest get hold of it nevertheless, code cannot be made from text here.
(require, process, Buffer, receive, send) => {
  "use strict";
  const vm = require("node:vm");
  const { getHeapStatistics, setFlagsFromString } = require("node:v8");
  const { Script, SourceTextModule } = vm;
  const { setImmediate } = globalThis;
  setFlagsFromString("--expose-gc"); // for contexts that are made now, and no guest's is
  const gc = vm.runInNewContext("gc");
  setFlagsFromString("--no-expose-gc");
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const exit = process.reallyExit.bind(process);
  const TURNS = 50; // of the event loop, for modules that are being loaded
  const CELL = "guest:cell";
  const CALL = "$interpstack"; // a global of this realm, for the script that SIGINT ends
  process.on("SIGINT", () => {}); // one that comes when no guest computes must end nothing
  // What could harm other processes of this user, whoever may get hold of it.
  for (const name of ["kill", "_kill", "abort", "binding", "_linkedBinding", "dlopen", "chdir", "setuid", "setgid",
    "setgroups", "seteuid", "setegid", "initgroups", "_debugProcess", "_debugEnd", "_startProfilerIdleNotifier",
    "_rawDebug", "execve", "getBuiltinModule", "loadEnvFile", "report", "mainModule"]) delete process[name];
  for (const name of ["process", "require", "module", "exports", "global", "__filename", "__dirname", "fetch",
    "WebSocket", "EventSource", "Buffer", "navigator"]) delete globalThis[name];

  const entry = new Script(`${CALL}()`, { filename: "interpstack:entry" });
  const checkpoint = new Script("0", { filename: "interpstack:checkpoint" });
  let context, guest, kernel, wrap, interrupted = false, completed = false, imported = false, loading = 0, most = Infinity;

  // Run something that may enter the guest; whether it came to its end.
  function enter(action) {
    if (interrupted) return false;
    globalThis[CALL] = action;
    try {
      entry.runInThisContext({ breakOnSigint: true });
      return true;
    } catch (error) {
      if (error?.code !== "ERR_SCRIPT_EXECUTION_INTERRUPTED") throw error;
      interrupted = true;
      return false;
    }
  }
  const runJobs = () => { checkpoint.runInContext(context); };

  // -- modules of the host ------------------------------------------------------------------

  const modules = new Map(); // by name
  // The host resolves a name as `base` imports it, and has the source.
  function find(base, specifier) {
    send("R", JSON.stringify([base, specifier]));
    const [name, source, why] = JSON.parse(receive()[1]);
    if (source === null && !modules.has(name)) throw guest.absent(why);
    if (!modules.has(name)) {
      modules.set(name, new SourceTextModule(source, {
        identifier: name, context,
        importModuleDynamically: (wanted) => load(name, wanted),
        initializeImportMeta: (meta) => { meta.url = name; },
      }));
    }
    return modules.get(name);
  }
  async function load(base, specifier) {
    loading++;
    imported = true;
    try {
      const module = find(base, specifier);
      try {
        if (module.status === "unlinked") await module.link((wanted, from) => find(from.identifier, wanted));
        if (module.status === "linking") await until(() => module.status !== "linking");
        if (module.status === "linked") await module.evaluate({ breakOnSigint: true });
        else if (module.status === "evaluating") await until(() => module.status !== "evaluating");
      } catch (error) {
        if (module.status !== "evaluated") modules.delete(module.identifier); // a later import tries again
        if (error?.code === "ERR_SCRIPT_EXECUTION_INTERRUPTED") interrupted = true;
        throw told(error);
      }
      if (module.status === "errored") throw module.error;
      return module.namespace;
    } finally {
      loading--;
    }
  }
  async function until(done) {
    while (!done()) await turn();
  }
  // An error of this realm as one of the guest's; errors of guests as they are.
  const told = (error) => error instanceof Error ? guest.error(String(error.name), String(error.message)) : error;
  function refuse() {
    imported = true;
    throw guest.refusal();
  }

  // -- commands -----------------------------------------------------------------------------

  function setUp({ name, kernelSource, setup, awaiting, sources, mostBytes }) {
    most = mostBytes ?? Infinity;
    const options = (label) => ({ microtaskMode: "afterEvaluate", codeGeneration: { strings: true, wasm: false }, name: label });
    wrap = new Script(`(\n${awaiting})()`, { filename: "interpstack:awaiting" })
      .runInContext(vm.createContext(vm.constants.DONT_CONTEXTIFY, options("preparation")));
    context = vm.createContext(vm.constants.DONT_CONTEXTIFY, options("guest"));
    const run = (filename, source, importModuleDynamically = refuse) =>
      new Script(`(${source}\n)`, { filename, importModuleDynamically }).runInContext(context);
    guest = run("interpstack:host", setup)({ __proto__: null, print: (line) => { send("P", line); }, placeOf, toBase64, fromBase64 }, CELL);
    kernel = run(name, kernelSource, (wanted) => load(name, wanted))();
    guest.install(kernel);
    for (const each of sources) run(each.name, each.source)(guest.api);
    guest.seal();
    runJobs();
  }
  // A guest's array may have properties of its own by these names.
  const part = (name) => Function.prototype.call.bind(Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), name).get);
  const bufferOf = part("buffer"), offsetOf = part("byteOffset"), lengthOf = part("byteLength");
  const bytesOf = (array) => Buffer.from(bufferOf(array), offsetOf(array), lengthOf(array));
  const toBase64 = (array) => bytesOf(array).toString("base64");
  const fromBase64 = (array, text) => { bytesOf(array).write(text, "base64"); };
  // Where a source is at fault, as V8 tells it with the error: the name, the line, an underline.
  function placeOf(source) {
    try {
      new Script(source, { filename: CELL, importModuleDynamically: refuse });
      return undefined;
    } catch (error) {
      const [head, , marks = ""] = String(error.stack).split("\n", 3), caret = marks.indexOf("^");
      const line = Number(head.slice(head.lastIndexOf(":") + 1)), column = (caret < 0 ? marks.length : caret) + 1;
      return head.startsWith(`${CELL}:`) && line > 0 && column > 0 ? `[${line},${column}]` : undefined;
    }
  }
  // The text of what a cell has queued ends like this unless the cell has ended.
  const GOES_ON = '"completion":null}';
  function drain() {
    const text = kernel.dispatch('["drain"]');
    if (!text.endsWith(GOES_ON)) completed = true;
    send("D", text);
  }
  const commands = {
    __proto__: null,
    begin([text, source, awaits]) {
      completed = false;
      enter(() => {
        const wrapped = awaits ? wrap(source) : "";
        guest.begin(text, wrapped || source, wrapped !== "");
      });
    },
    resume([text]) { enter(() => guest.resume(text)); },
    say([text]) {
      enter(() => {
        const said = guest.say(text);
        if (typeof said === "string") send("D", said);
      });
    },
    end() { enter(() => send("D", kernel.dispatch('["end"]'))); },
  };
  async function carryOut(kind, given) {
    interrupted = false;
    commands[kind](given);
    if (kind === "say" || kind === "end") return;
    enter(runJobs);
    // A promise of `import()` settles some turns of the event loop after its module is loaded.
    for (let i = 0, more = imported || loading > 0 ? 2 : 0; more > 0 && !interrupted && i < TURNS; i++) {
      await turn();
      enter(runJobs);
      if (loading === 0) more--;
      else more = 2;
    }
    imported = false;
    enter(drain);
  }
  function exportValues() {
    send("E", ""); // another time limit holds from here on
    enter(() => send("V", kernel.dispatch('["values"]')));
  }
  async function serve() {
    send("Z", "");
    for (;;) {
      const [, text] = receive();
      const [kind, ...given] = JSON.parse(text);
      if (kind === "setup") setUp(given[0]);
      else await carryOut(kind, given);
      const stopped = interrupted; // what is counted is the guest's own, without the export
      let { used_heap_size: heap, external_memory: external } = getHeapStatistics();
      if (Math.max(heap, external) > most) {
        gc(); // it may be garbage
        ({ used_heap_size: heap, external_memory: external } = getHeapStatistics());
      }
      if (kind === "end" || (!stopped && completed && kind !== "say")) {
        interrupted = false;
        exportValues();
      }
      send("Z", JSON.stringify({ stopped, heap, external }));
      await turn(); // what Node notes about rejected promises goes away
    }
  }
  serve().catch((error) => {
    send("F", String(error?.stack).slice(0, 2000));
    exit(1);
  });
}
