// List the folder, then read all of its files, fifty at a time.
const {files} = await tools.listFiles();
const figures = [], words = new Map();
for (let i = 0; i < files.length; i += 50) {
  const batch = files.slice(i, i + 50);
  const texts = await Promise.all(batch.map(f => tools.readText({path: f.path})));
  texts.forEach((text, k) => {
    const name = batch[k].path.split("/").pop();
    const type = name.includes(".") ? name.split(".").pop() : "(none)";
    const lines = text === "" ? 0 : text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
    figures.push({path: batch[k].path, type, lines, chars: [...text].length});
    for (const word of text.toLowerCase().match(/[a-z]{4,}/g) ?? [])
      words.set(word, (words.get(word) ?? 0) + 1);
  });
}
const sum = (list, key) => list.reduce((total, item) => total + item[key], 0);
({files: figures.length, lines: sum(figures, "lines"), chars: sum(figures, "chars")})
