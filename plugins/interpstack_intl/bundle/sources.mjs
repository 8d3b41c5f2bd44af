// What the packages of formatjs hold, for data.mjs and programs.mjs.
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const here = dirname(fileURLToPath(import.meta.url)), assets = join(here, "..", "assets");
export const formatjs = join(here, "node_modules", "@formatjs");
// The 40 languages whose data is packed, with all their regions and scripts.
export const LANGUAGES = ("ar bg bn ca cs da de el en es fa fi fr he hi hr hu id it ja ko lt ms nb nl pl pt ro ru sk sl sr "
  + "sv ta th tr uk ur vi zh").split(" ");
export const filesOf = (folder) => readdirSync(join(formatjs, `intl-${folder}`, "locale-data"))
  .filter((file) => file.endsWith(".js")).map((file) => file.slice(0, -3)).sort();
export const languageOf = (name) => name.split("-")[0];

// Time zones; the tables that all of them refer to are part of the program.
const zoneSource = readFileSync(join(formatjs, "intl-datetimeformat", "add-all-tz.js"), "utf8");
export const { zones, ...zoneTables } =
  JSON.parse(zoneSource.slice(zoneSource.indexOf("__addTZData({") + "__addTZData(".length, zoneSource.lastIndexOf("})") + 1));
export const zoneNames = zones.map((zone) => zone.slice(0, zone.indexOf("|")));
// Other names of zones, which formatjs does not export.
const [, linkSource] = /var links_default = (\{[^}]*\});/.exec(readFileSync(join(formatjs, "intl-datetimeformat", "index.js"), "utf8"));
export const links = Object.fromEntries(Object.entries(JSON.parse(linkSource)).map(([name, zone]) => [name.toUpperCase(), zone]));
