// Counts the files of a folder: one agent lists them, readers count them shelf by shelf, and a writer
// reports on the sums, which this script adds up itself.
export const meta = {
  name: "inventory",
  description: "Counts the files of a folder, shelf by shelf, and reports on them",
  phases: [{ title: "List" }, { title: "Count" }, { title: "Report" }],
};

const SHELF_FILES = 12; // files that one reader counts
const number = { type: "integer", minimum: 0 };
const rows = (properties) => ({
  type: "array",
  items: { type: "object", properties, required: Object.keys(properties) },
});
const COUNTED = {
  type: "object",
  properties: {
    files: number,
    lines: number,
    chars: number,
    types: rows({ type: { type: "string" }, files: number, lines: number }),
    longest: rows({ path: { type: "string" }, lines: number }),
  },
  required: ["files", "lines", "chars", "types", "longest"],
};

export default async () => {
  phase("List");
  const paths = await agent("List the text files of the folder", { agentType: "librarian", label: "files" });
  const shelves = shelvesOf(paths);
  log(`${paths.length} files on ${shelves.length} shelves`);

  phase("Count");
  const counted = await parallel.settled(shelves.map((shelf) => () => count(shelf)));
  const good = counted.filter(({ ok }) => ok).map(({ value }) => value);
  const failed = counted.flatMap(({ ok, error }, i) =>
    ok ? [] : [{ shelf: shelves[i].name, files: shelves[i].paths.length, message: error.message }]);
  if (good.length === 0) throw new Error(`no shelf was counted: ${failed[0].message}`);
  const totals = addedUp(good);

  phase("Report");
  const figures = JSON.stringify({ ...totals, notCounted: failed });
  const report = await agent(`Report on a folder's files in Markdown, in a few lines.\nFigures: ${figures}`, {
    agentType: "writer",
    label: "report",
  });
  return { totals, failed, report };
};

function shelvesOf(paths) {
  const folders = Object.groupBy(paths, (path) => path.split("/").slice(0, -1).join("/") || ".");
  return Object.entries(folders).flatMap(([folder, inside]) => {
    const shelves = [];
    for (let at = 0; at < inside.length; at += SHELF_FILES) {
      const name = at === 0 ? folder : `${folder} (${shelves.length + 1})`;
      shelves.push({ name, paths: inside.slice(at, at + SHELF_FILES) });
    }
    return shelves;
  });
}

async function count({ name, paths }) {
  const prompt = [
    "Count these files in code. Read all of them, in parallel: tools.readText({path}) gives a text.",
    "A text has as many lines as newlines, and one more if it does not end with one; its characters are",
    "code points; a file's type is the end of its name after the last dot, or (none).",
    'Answer with JSON alone: {"files", "lines", "chars", "types": [{"type", "files", "lines"}],',
    '"longest": [{"path", "lines"}]}, with the five longest files.',
    `Files: ${JSON.stringify(paths)}`,
  ].join("\n");
  const found = await agent(prompt, { agentType: "reader", label: name, schema: COUNTED });
  if (found.files !== paths.length) throw new Error(`${found.files} of ${paths.length} files were counted`);
  return found;
}

function addedUp(parts) {
  const sum = (list, key) => list.reduce((total, item) => total + item[key], 0);
  const types = Object.entries(Object.groupBy(parts.flatMap((part) => part.types), ({ type }) => type))
    .map(([type, list]) => ({ type, files: sum(list, "files"), lines: sum(list, "lines") }))
    .sort((a, b) => b.lines - a.lines || (a.type < b.type ? -1 : 1));
  const longest = parts.flatMap((part) => part.longest)
    .sort((a, b) => b.lines - a.lines || (a.path < b.path ? -1 : 1)).slice(0, 5);
  return { files: sum(parts, "files"), lines: sum(parts, "lines"), chars: sum(parts, "chars"), types, longest };
}
