// The process that checks types: one request in a line of JSON on stdin, one answer on stdout.
// A thread does the work, so that this one can end the process when a check takes too long, when
// nobody asks for a while, and when the host is gone.
import { createInterface } from "node:readline";
import { Worker } from "node:worker_threads";

const [seconds, idleSeconds, megabytes] = process.argv.slice(2).map(Number);
const worker = new Worker(new URL("worker.mjs", import.meta.url), {
  resourceLimits: { maxOldGenerationSizeMb: megabytes },
});
let idle = null;
let late = null;

function rest() {
  idle = setTimeout(() => process.exit(0), idleSeconds * 1000);
}

function answer(message) {
  clearTimeout(late);
  process.stdout.write(JSON.stringify(message) + "\n");
  rest();
}

function broken(error) {
  process.stdout.write(JSON.stringify({ broken: String(error).slice(0, 200) }) + "\n", () =>
    process.exit(1),
  );
}

worker.on("message", answer);
worker.on("error", broken);
const lines = createInterface({ input: process.stdin, crlfDelay: Infinity });
lines.on("line", line => {
  clearTimeout(idle);
  late = setTimeout(() => broken("late"), seconds * 1000);
  worker.postMessage(line);
});
lines.on("close", () => process.exit(0));
