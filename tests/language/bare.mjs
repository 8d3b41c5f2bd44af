// Run each program of a list in a context of its own, and print how each ends.
// stdin: [[name, [script, …]], …] as JSON; stdout: {name: "" or the error's name}.
import vm from "node:vm";

const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const ends = {};
process.on("unhandledRejection", () => {});
for (const [name, scripts] of JSON.parse(Buffer.concat(chunks).toString())) {
  const context = vm.createContext({ print() {}, console: { log() {} } });
  ends[name] = "";
  try {
    for (const script of scripts) vm.runInContext(script, context, { timeout: 10_000 });
  } catch (error) {
    ends[name] = String(error?.name ?? "thrown");
  }
}
process.stdout.write(JSON.stringify(ends));
