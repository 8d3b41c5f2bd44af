// Bundles src into ../assets/formatter.bundle.js and ../assets/guest.bundle.js, and collects the licences of what got bundled.
import { build } from "esbuild";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LANGUAGES, assets, filesOf, formatjs, here, languageOf, links, zoneNames, zoneTables } from "./sources.mjs";

// Locales that CLDR has for these languages, and the languages of which no data is packed.
const everywhere = filesOf("numberformat");
const regions = JSON.parse(readFileSync(join(here, "src", "regions.json"), "utf8"));
const missing = [...new Set(everywhere.map(languageOf))].filter((language) => !LANGUAGES.includes(language)).sort();

const virtual = {
  "virtual:index": Object.entries({ known: regions, missing, zoneNames, zoneTables, links })
    .map(([key, value]) => `export const ${key} = JSON.parse(${JSON.stringify(JSON.stringify(value))});`).join("\n"),
  "virtual:plural-rules": "export function addPluralRules() {\n"
    + filesOf("pluralrules").filter((name) => LANGUAGES.includes(languageOf(name)))
      .map((name) => readFileSync(join(formatjs, "intl-pluralrules", "locale-data", `${name}.js`), "utf8")
        .replace(/\} else \{[\s\S]*$/, "}")).join("\n") + "\n}",
};
const virtualModules = {
  name: "virtual",
  setup(api) {
    api.onResolve({ filter: /^virtual:/ }, ({ path }) => ({ path, namespace: "virtual" }));
    api.onLoad({ filter: /./, namespace: "virtual" }, ({ path }) => ({ contents: virtual[path], loader: "js" }));
  },
};

const packages = new Set(["cldr-dates-full"]); // some patterns of the data
async function bundle(entry, globalName) {
  const result = await build({
    absWorkingDir: here,
    entryPoints: [`src/${entry}`],
    bundle: true,
    write: false,
    metafile: true,
    format: "iife",
    globalName,
    platform: "neutral",
    mainFields: ["module", "main"],
    target: "es2022",
    charset: "ascii",
    minify: true,
    keepNames: false,
    legalComments: "none",
    plugins: [virtualModules],
  });
  for (const input of Object.keys(result.metafile.inputs)) {
    const match = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (match) packages.add(match[1]);
  }
  return result.outputFiles[0].text.trimEnd();
}
const NOTE = "// Built from bundle/src; do not edit. See bundle/README.md and intl.LICENSES.txt.\n";
const formatter = await bundle("formatter.js", "formatter");
writeFileSync(join(assets, "formatter.bundle.js"), `${NOTE}()=>{${formatter}return formatter}\n`);
// Temporal looks for `Intl` when it is installed, after the guest has it.
const temporal = await bundle("temporal.js", "temporal");
const intl = await bundle("guest.js", "guest");
writeFileSync(join(assets, "guest.bundle.js"),
  `${NOTE}(kernel,ask)=>{"use strict";if(ask===undefined)return;${intl}guest.install(kernel,ask);${temporal}temporal.install(kernel)}\n`);

let licences = "The files in assets contain code and data of these packages.\n";
for (const name of [...packages].sort()) {
  const folder = join(here, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file === undefined ? "" : readFileSync(join(folder, file), "utf8").trim();
  licences += `\n${"=".repeat(78)}\n${name} ${version} (${license})\n${"=".repeat(78)}\n\n${text}\n`;
}
writeFileSync(join(assets, "..", "intl.LICENSES.txt"), licences);
console.log(`formatter.js: ${formatter.length} characters; guest.js: ${intl.length + temporal.length}; ${[...packages].sort().join(", ")}`);
