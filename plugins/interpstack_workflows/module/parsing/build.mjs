// Bundles src/index.js into ../metadata.js, and writes the licence of what is bundled beside it.
import { build } from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const result = await build({
  absWorkingDir: here,
  entryPoints: ["src/index.js"],
  bundle: true,
  write: false,
  format: "iife",
  globalName: "metadata",
  platform: "neutral",
  mainFields: ["module", "main"],
  target: "es2022",
  charset: "ascii",
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: "none",
});
const code = result.outputFiles[0].text.trimEnd();
writeFileSync(
  join(here, "..", "metadata.js"),
  "// Built from parsing/src; do not edit. See parsing/README.md and metadata.LICENSES.txt.\n" +
    `()=>{"use strict";${code}return metadata.readMetadata}\n`,
);
const folder = join(here, "node_modules", "acorn");
const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
const text = readFileSync(join(folder, "LICENSE"), "utf8").trim();
const line = "=".repeat(78);
writeFileSync(
  join(here, "..", "metadata.LICENSES.txt"),
  `metadata.js contains code of this package.\n\n${line}\nacorn ${version} (${license})\n${line}\n\n${text}\n`,
);
console.log(`metadata.js: ${code.length} characters; bundled: acorn ${version}`);
