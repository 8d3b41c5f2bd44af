// The main program of a kernel process: it reads commands of the host, enters the guest's context,
// and sends back what the guest's side of the engine protocol says.
//
// A context of `vm` with a queue of jobs of its own holds the guest. Every entry runs inside a script
// that SIGINT ends, and no job of the guest runs outside an entry. Nothing of this realm is handed to
// the guest, and should a guest get hold of it nevertheless, code cannot be made from text here.
(require, process, Buffer, connection, stops, about) => {
  "use strict";
  const { receive, ask } = connection;
  const vm = require("node:vm"), { pathToFileURL: addressOf } = require("node:url");
  const utf8Of = Function.prototype.call.bind(Buffer.prototype.utf8Slice);
  const { getHeapStatistics, setFlagsFromString } = require("node:v8");
  const { isPromise, isProxy } = require("node:util/types");
  const { Script, compileFunction } = vm;
  const { setImmediate, setTimeout } = globalThis;
  setFlagsFromString("--expose-gc"); // for contexts that are made now, and no guest's is
  const gc = vm.runInNewContext("gc");
  setFlagsFromString("--no-expose-gc");
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const exit = process.reallyExit.bind(process), workOfNode = process.getActiveResourcesInfo.bind(process);
  const TURNS = 50; // of the event loop without other work, for code that waits for something else
  const FROM_CELL = "interpstack:cell:"; // before what a cell imports and no loader of the host has
  const CELL = "guest:cell";
  const { state, enter, isOurs, isStopped } = stops;
  // Callbacks of guests that Node calls run outside of entries; their errors are the cell's.
  process.on("uncaughtException", (error) => { enter(() => kernel.reject(error)); });
  let emptied = false, wake = () => {};
  process.on("beforeExit", () => {
    emptied = true;
    wake();
  });
  // What could harm other processes of this user, whoever may get hold of it.
  for (const name of ["kill", "_kill", "abort", "binding", "_linkedBinding", "dlopen", "chdir", "setuid", "setgid",
    "setgroups", "seteuid", "setegid", "initgroups", "_debugProcess", "_debugEnd", "_startProfilerIdleNotifier",
    "_rawDebug", "execve", "getBuiltinModule", "loadEnvFile", "report", "mainModule"]) delete process[name];
  const web = {}; // given to guests that have the network
  for (const name of ["fetch", "Headers", "Request", "Response", "FormData", "WebSocket", "EventSource", "AbortController"])
    web[name] = Object.getOwnPropertyDescriptor(globalThis, name);
  for (const name of ["process", "require", "module", "exports", "global", "__filename", "__dirname", "fetch",
    "WebSocket", "EventSource", "navigator"]) delete globalThis[name];
  // Node's own `fetch` looks for this one behind the global.
  Object.defineProperty(globalThis, "Buffer", { __proto__: null, value: Buffer, writable: false, enumerable: false, configurable: false });

  // Node would look for a writer of stack traces behind the global of the error's context, where guests
  // can put one that gets V8's own frames: those show the functions of this program.
  let writeTrace;
  const { prepareStackTraceCallback } = require("internal/errors");
  require("internal/test/binding").internalBinding("errors").setPrepareStackTraceCallback((global, error, frames) =>
    global === context && writeTrace !== undefined ? writeTrace(error, frames) : prepareStackTraceCallback(globalThis, error, frames));

  // Promises of the guest that were rejected and that no code handles; V8 tells of both at once.
  const { setPromiseRejectCallback, promiseRejectEvents } = require("internal/test/binding").internalBinding("task_queue");
  const { kPromiseRejectWithNoHandler: REJECTED, kPromiseHandlerAddedAfterReject: HANDLED } = promiseRejectEvents;
  const MOST_REJECTED = 1000, rejected = new Map();
  setPromiseRejectCallback((event, promise, reason) => {
    if (event === HANDLED) rejected.delete(promise);
    else if (event === REJECTED && rejected.size < MOST_REJECTED && Object.getPrototypeOf(promise) !== Promise.prototype)
      rejected.set(promise, reason);
  });

  const checkpoint = new Script("0", { filename: "interpstack:checkpoint" });
  let hasNetwork = false, context, guest, kernel, modules, packages, completed = false, most = Infinity;

  const runJobs = () => { checkpoint.runInContext(context); };
  let isHeard = false; // by the host: it gets nothing of what warms up
  const send = (kind, text) => { if (isHeard) connection.send(kind, text); };
  const hold = (kind, text) => { if (isHeard) connection.hold(kind, text); };

  // What Node itself is made of can be required, too: boot.js needs a part of it.
  function moduleOfNode(name) {
    const address = `node:${name}`;
    if (address.startsWith("node:internal")) throw new Error("not a module for guests");
    return require(address);
  }
  function refuse() {
    state.imported = true;
    throw guest.refusal();
  }

  // -- commands -----------------------------------------------------------------------------

  function setUp({ name, kernelSource, setup, sources, mostBytes, ...parts }) {
    most = mostBytes ?? Infinity;
    const options = (label) => ({ microtaskMode: "afterEvaluate", codeGeneration: { strings: true, wasm: false }, name: label });
    context = vm.createContext(vm.constants.DONT_CONTEXTIFY, options("guest"));
    const run = (filename, source, importModuleDynamically = refuse) =>
      new Script(`(${source}\n)`, { filename, importModuleDynamically }).runInContext(context);
    guest = run("interpstack:host", setup)({ __proto__: null, print: (line) => { send("P", line); }, writeTraces: (writer) => { writeTrace = writer; }, placeOf, toBase64, fromBase64, isPromise, isProxy }, CELL);
    kernel = run(name, kernelSource, (wanted) =>
      wanted.startsWith(FROM_CELL) ? modules.load("", wanted.slice(FROM_CELL.length)) : modules.load(name, wanted))();
    guest.install(kernel);
    kernel.trackRejectionsBy({ __proto__: null, forget: () => { rejected.clear(); }, reasons: () => [...rejected.values()] });
    for (const each of sources) run(each.name, each.source)(guest.api);
    setUpModules(run, parts);
    guest.seal();
    runJobs();
    // Guests share these with this program, by `node:buffer`.
    for (const shared of [Buffer, Buffer.prototype]) Object.freeze(shared);
  }
  // Cells that leave nothing behind. V8 compiles functions when they are first called, and collects the
  // garbage of the start between cells: the first cell of a session would wait for both.
  async function warmUp() {
    const begin = ["begin", [1, 2, 3, 4], { now: 0, script: CELL, label: "", live: false, valueName: "" }];
    await answer(["say", '["bind",[],{}]']);
    for (const source of ["[1 + 1, 'a', { b: null }]", "(async () => ({ value: await null }))()", "throw new TypeError('x')"]) {
      begin[2] = { ...begin[2], source, awaits: source.includes("await") };
      await answer(["begin", JSON.stringify(begin)]);
    }
    await answer(["end"]);
  }
  function setUpModules(run, { modules: source, builtins, packages: programs, about: { cwd, network, readable, scratch }, forms }) {
    hasNetwork = network === true;
    const builtin = run("interpstack:builtins", builtins)({
      __proto__: null, about: JSON.stringify({ arch: process.arch, platform: process.platform, version: process.version, versions: process.versions }),
      builtin: moduleOfNode, loaded: (name, value) => { guest.api.loaded(name, value); }, ask: (kind, base, name) => JSON.stringify(ask("N", [kind, base, `${name}`])), files: JSON.stringify({ readable, scratch }), web: network ? (name) => web[name]?.value ?? web[name]?.get?.call(globalThis) : undefined, text: (bytes) => utf8Of(Buffer.from(bytes)),
    }, (line) => guest.api.write(line), cwd);
    packages = run("interpstack:packages", programs)({
      __proto__: null, cell: FROM_CELL, forms: JSON.stringify(forms), address: (path) => addressOf(path).href,
      ask: (kind, base, name) => JSON.stringify(ask("N", [kind, base, `${name}`])),
      requireModule: (address) => modules.required(address),
      compile: (filename, text, scope) => compileFunction(text.startsWith("#!") ? `//${text}` : text, ["exports", "require", "module", "__filename", "__dirname"], {
        filename, parsingContext: context, contextExtensions: [scope], importModuleDynamically: (wanted) => modules.load(filename, wanted),
      }),
    }, builtin, cwd);
    kernel.findModulesBy(packages);
    guest.nameFilesBy(packages.fileName);
    modules = new Script(`(${source}\n)`, { filename: "interpstack:modules" }).runInThisContext()({ vm, context, guest, packages, ask, turn, enter, state, isOurs });
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
    let text;
    if (!enter(() => { text = kernel.dispatch('["drain"]'); })) return;
    if (!text.endsWith(GOES_ON)) completed = true;
    hold("D", text);
  }
  const commands = {
    __proto__: null,
    settle([sent]) { stops.settle(sent); },
    begin([text]) {
      completed = false;
      modules.forgetLocal();
      if (isHeard) packages.beginCell();
      enter(() => guest.begin(text));
    },
    resume([text]) { enter(() => guest.resume(text)); },
    say([text]) {
      enter(() => {
        const said = guest.say(text);
        if (typeof said === "string") hold("D", said);
      });
    },
    end() {
      enter(() => hold("D", kernel.dispatch('["end"]')));
      enter(runJobs); // those of a cell that was stopped, which would run in the next one
    },
  };
  // A promise of `import()` settles some turns of the event loop after its module is loaded, and code
  // that goes on may import again, also what is refused at once.
  async function waitForImports() {
    for (let i = 0, more = state.imported || state.loading > 0 ? 2 : 0; more > 0 && !isStopped() && i < TURNS; i++) {
      const began = state.imported;
      state.imported = false;
      await turn();
      enter(runJobs);
      if (began && kernel.needsNothing()) i = 0;
      if (state.imported || state.loading > 0) more = 2;
      else more--;
    }
  }
  // A cell that nothing of the host can let go on may wait for Node, as for a file that is read. Node
  // says when its event loop has run out of work. Even then the answer of that work may have to go
  // from Node's queue of jobs to the guest's a few times, as a promise of Node's that was caught does.
  async function waitForNode() {
    for (let rounds = 0; rounds < TURNS && !isStopped() && kernel.needsNothing(); rounds = emptied ? rounds + 1 : 0) {
      emptied = false;
      await new Promise((resolve) => {
        wake = resolve;
        setTimeout(resolve, 1).unref();
      });
      if (emptied) await turn(); // without which the process would end
      enter(runJobs);
    }
  }
  async function carryOut(kind, given) {
    state.interrupted = false;
    commands[kind](given);
    if (kind === "say" || kind === "end" || kind === "settle") return;
    enter(() => {
      do runJobs(); while (kernel.next());
    });
    do {
      await waitForImports();
      await waitForNode();
    } while (state.imported && !isStopped() && kernel.needsNothing());
    // The host waits for its own requests alone, while an answer of the network may come first. Guests
    // without the network ask for nothing that their code did not.
    if (isHeard && hasNetwork && !kernel.needsNothing() && workOfNode().length > 0) enter(guest.lookAgain);
    drain();
  }
  function exportValues() {
    send("E", ""); // another time limit holds from here on
    enter(() => hold("V", kernel.dispatch('["values"]')));
  }
  async function answer([kind, ...given]) {
    await carryOut(kind, given);
    const stopped = state.interrupted; // what is counted is the guest's own, without the export
    let { used_heap_size: heap, external_memory: external } = getHeapStatistics();
    // It may be garbage; buffers of the last answer are counted until a second collection begins.
    for (let i = 0; i < 2 && Math.max(heap, external) > most; i++) {
      gc();
      ({ used_heap_size: heap, external_memory: external } = getHeapStatistics());
    }
    if (kind === "end" || (!stopped && completed && kind !== "say" && kind !== "settle")) {
      state.interrupted = false;
      exportValues();
    }
    send("Z", JSON.stringify({ stopped, seen: stops.seen(), heap, external }));
    await turn(); // the next command blocks: what Node has done meanwhile, such as a fetch, is taken first
  }
  async function serve(setup) {
    if (setup !== null) {
      setUp(setup);
      await warmUp();
    }
    isHeard = true;
    send("Z", ""); // the host takes descriptors away before it sends a command
    for (;;) await answer(JSON.parse(receive()));
  }
  serve(about).catch((error) => {
    connection.send("F", isOurs(error) ? String(error.stack).slice(0, 2000) : "an error of the guest's left its context");
    exit(1);
  });
}
