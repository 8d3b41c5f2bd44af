// What is there? The first lines of each file, and the tables of the database.
const heads = {};
for (const path of await files.glob("*.csv")) heads[path] = await files.readLines(path, { to: 3 });
const tables = await tools.query({ sql: "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL" });
({ heads, tables: tables.map((table) => table.sql) });
