// Writes node.json: what Node 20 answers for the calls of the comparison. Run: TZ=UTC node record.mjs
import { writeFileSync } from "node:fs";

const LOCALES = ("ar-EG bg bn ca cs da de de-AT de-CH el en en-AU en-GB en-IN es es-MX fa fi fr fr-CA he hi hr hu id it ja ko lt "
  + "ms nb nl pl pt-BR pt-PT ro ru sk sl sr sv ta th tr uk ur vi zh-CN zh-TW").split(" ");
// Functions of a locale, as text: the guest evaluates the same.
const CALLS = [
  "(L) => (1234567.891).toLocaleString(L)",
  "(L) => (-1234.5).toLocaleString(L, {style: 'currency', currency: 'EUR'})",
  "(L) => (0.256).toLocaleString(L, {style: 'percent', maximumFractionDigits: 1})",
  "(L) => (1234567).toLocaleString(L, {notation: 'compact'})",
  "(L) => (16).toLocaleString(L, {style: 'unit', unit: 'kilometer-per-hour'})",
  "(L) => 12345678901234567890n.toLocaleString(L)",
  "(L) => new Date(1707145449007).toLocaleDateString(L)",
  "(L) => new Date(1707145449007).toLocaleString(L, {timeZone: 'Europe/Berlin'})",
  "(L) => new Date(1720000000000).toLocaleTimeString(L, {timeZone: 'America/New_York'})",
  "(L) => new Intl.DateTimeFormat(L, {dateStyle: 'full'}).format(1707145449007)",
  "(L) => new Intl.DateTimeFormat(L, {dateStyle: 'long', timeStyle: 'short', timeZone: 'Asia/Tokyo'}).format(1707145449007)",
  "(L) => new Intl.DateTimeFormat(L, {month: 'long', day: 'numeric'}).format(1707145449007)",
  "(L) => new Intl.PluralRules(L).select(2) + ' ' + new Intl.PluralRules(L, {type: 'ordinal'}).select(3)",
  "(L) => new Intl.RelativeTimeFormat(L).format(-3, 'day')",
  "(L) => new Intl.RelativeTimeFormat(L, {numeric: 'auto'}).format(1, 'week')",
  "(L) => new Intl.ListFormat(L).format(['A', 'B', 'C'])",
  "(L) => new Intl.DisplayNames(L, {type: 'region'}).of('JP')",
  "(L) => new Intl.DisplayNames(L, {type: 'language'}).of('pt-BR')",
];
const answers = Object.fromEntries(LOCALES.map((locale) => [locale, CALLS.map((text) => (0, eval)(text)(locale))]));
writeFileSync(new URL("node.json", import.meta.url),
  JSON.stringify({ node: process.versions.node, cldr: process.versions.cldr, calls: CALLS, answers }, null, 1) + "\n");
