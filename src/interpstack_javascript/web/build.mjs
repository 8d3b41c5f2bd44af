// Bundles src/index.js into ../web.js and collects the licences of what got bundled.
import { build } from "esbuild";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const shim = name => join(here, "src", "shims", name);

// Heavy or global-dependent modules of whatwg-url, replaced by small equivalents (see README.md).
const replaced = new Map([
  ["tr46", shim("tr46.js")],
  ["webidl-conversions", shim("webidl-conversions.js")],
  ["./encoding", shim("url-encoding.js")],
  ["@exodus/bytes/encoding.js", shim("empty.js")],
  ["@exodus/bytes/whatwg.js", shim("url-percent.js")],
]);
const shims = {
  name: "shims",
  setup(api) {
    api.onResolve({ filter: /./ }, args => {
      if (args.kind === "require-call" && /[\\/]whatwg-url[\\/]lib[\\/]/.test(args.importer)) {
        const path = replaced.get(args.path);
        if (path) return { path };
      }
    });
  },
};

const result = await build({
  absWorkingDir: here,
  entryPoints: ["src/index.js"],
  bundle: true,
  write: false,
  metafile: true,
  format: "iife",
  globalName: "web",
  platform: "neutral",
  mainFields: ["module", "main"],
  target: "es2020",
  // Every engine this runs in has these; lowering private members would cost one WeakMap per field.
  supported: {
    "class-field": true,
    "class-static-field": true,
    "class-static-blocks": true,
    "class-private-field": true,
    "class-private-method": true,
    "class-private-accessor": true,
    "class-private-static-method": true,
    "class-private-brand-check": true,
  },
  charset: "ascii",
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: "none",
  plugins: [shims],
  // Never pick up engine-dependent fast paths: the same code runs in every engine.
  define: {
    "globalThis.Buffer": "undefined",
    "globalThis.Deno": "undefined",
    "globalThis.HermesInternal": "undefined",
    "globalThis.TextEncoder": "undefined",
    "globalThis.TextDecoder": "undefined",
    "globalThis.TransformStream": "undefined",
  },
});

const code = result.outputFiles[0].text.trimEnd();
writeFileSync(
  join(here, "..", "web.js"),
  "// Built from web/src; do not edit. See web/README.md and web.LICENSES.txt.\n" +
    `(kernel)=>{"use strict";${code}web.install(kernel)}\n`,
);

const packages = new Set();
for (const input of Object.keys(result.metafile.inputs)) {
  const match = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
  if (match) packages.add(match[1]);
}
let licences = "web.js contains code of these packages.\n";
for (const name of [...packages].sort()) {
  const folder = join(here, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find(entry => /^licen[cs]e/i.test(entry));
  const text = readFileSync(join(folder, file), "utf8").trim();
  licences += `\n${"=".repeat(78)}\n${name} ${version} (${license})\n${"=".repeat(78)}\n\n${text}\n`;
}
writeFileSync(join(here, "..", "web.LICENSES.txt"), licences);
console.log(`web.js: ${code.length} characters; bundled: ${[...packages].sort().join(", ")}`);
