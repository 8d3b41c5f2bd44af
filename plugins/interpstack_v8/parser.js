// The host's door into an isolate that prepares sources; no guest code ever runs there.
//
// Takes the transform, the door's name, and the globals that no cell can declare. As `host.js`, it
// answers short commands by their value, and tells the others.
(wrapAwaiting, NAME, LOCKED) => {
  "use strict";
  const { op_memory_usage: memoryUsage } = __bootstrap.core.ops;
  const callHost = __bootstrap.core.ops.op_jsrun_call_python_sync;
  globalThis[NAME] = (secret, bytes, ops) => {
    globalThis[NAME] = (given, kind, source) => {
      if (given !== secret) throw new TypeError("not for guests");
      if (kind === "park") return void callHost(ops.park, []);
      const late = Date.now() + 1;
      const { script, shifts } = wrapAwaiting(source, LOCKED);
      const text = script && `${shifts}\n${script}`;
      const { heapUsed, external } = memoryUsage();
      if (Date.now() < late) return { answer: [text, heapUsed, external] };
      callHost(ops.tell, [text, heapUsed, external]);
      return { answer: null };
    };
  };
}
