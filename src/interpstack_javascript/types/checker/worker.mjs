// Loads the compiler and checks one cell after another.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { parentPort } from "node:worker_threads";
import { brotliDecompressSync } from "node:zlib";

import { Checker } from "./check.mjs";

const packed = readFileSync(new URL("../typescript.br", import.meta.url));
const { compiler, library } = JSON.parse(brotliDecompressSync(packed).toString());
const module = { exports: {} };
new Function("module", "exports", "require", "__filename", "__dirname", compiler)(
  module,
  module.exports,
  createRequire(import.meta.url),
  "typescript.js",
  "",
);
const checker = new Checker(module.exports, library);
checker.check({ declarations: "", variables: {}, cell: "[1].map(n => n + 1)", added: [] });
parentPort.on("message", line => {
  let answer;
  try {
    answer = checker.check(JSON.parse(line));
  } catch (error) {
    answer = { failed: String(error?.stack ?? error).slice(0, 500) };
  }
  parentPort.postMessage(answer);
});
parentPort.postMessage({ ready: true });
