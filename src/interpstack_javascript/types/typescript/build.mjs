// Packs the TypeScript compiler and the declarations of the language into ../typescript.br.
import { transformSync } from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const require = createRequire(import.meta.url);
const folder = dirname(require.resolve("typescript/package.json"));
const ts = require("typescript");

// The declarations of lib.esnext.d.ts without comments: the scripts as one file, and the modules.
const printer = ts.createPrinter({ removeComments: true });
const parts = new Map();
function add(name) {
  if (parts.has(name)) return;
  parts.set(name, "");
  const path = join(folder, "lib", `lib.${name}.d.ts`);
  const file = ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.ESNext);
  for (const { fileName } of file.libReferenceDirectives) add(fileName);
  parts.delete(name); // behind the parts that it refers to
  parts.set(name, printer.printFile(file).replace(/^\/\/\/.*$|^\/\*![^]*?\*\//gm, "").trim());
}
add("esnext");
const isModule = text => /^export\b/m.test(text);
const texts = [...parts.values()].filter(text => text !== "");
const library = [
  texts.filter(text => !isModule(text)).join("\n"),
  ...texts.filter(isModule),
];

const compiler = transformSync(readFileSync(join(folder, "lib", "typescript.js"), "utf8"), {
  minify: true,
  keepNames: false,
  platform: "node",
  format: "cjs",
  charset: "ascii",
  legalComments: "none",
}).code;
const packed = JSON.stringify({ compiler, library });
writeFileSync(
  join(here, "..", "typescript.br"),
  brotliCompressSync(packed, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24 },
  }),
);

const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
const line = "=".repeat(78);
const notices = ["LICENSE.txt", "ThirdPartyNoticeText.txt"].map(name => {
  const text = readFileSync(join(folder, name), "utf8").replace(/\r\n/g, "\n");
  return text.split("\n").map(each => each.trimEnd()).join("\n").trim();
});
writeFileSync(
  join(here, "..", "typescript.LICENSES.txt"),
  `typescript.br contains code of this package.\n\n${line}\ntypescript ${version} (Apache-2.0)\n` +
    `${line}\n\n${notices.join(`\n\n${line}\n\n`)}\n`,
);
