// The variables are still there: rank what was counted.
const types = Object.entries(Object.groupBy(figures, f => f.type))
  .map(([type, list]) => ({type, files: list.length, lines: sum(list, "lines")}))
  .sort((a, b) => b.lines - a.lines).slice(0, 8);
const longest = figures.toSorted((a, b) => b.lines - a.lines || (a.path < b.path ? -1 : 1))
  .slice(0, 5).map(({path, lines}) => ({path, lines}));
const frequent = [...words].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
  .slice(0, 8).map(([word, count]) => ({word, count}));
JSON.stringify({types, longest, frequent})
