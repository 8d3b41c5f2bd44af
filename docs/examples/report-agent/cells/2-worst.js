// A tool gets the whole value of each handle; the code reads only the rows of the worst day.
const worst = [];
for (const [plant, handle] of Object.entries(readings)) {
  const days = await tools.dailySums({ rows: handle });
  const summer = days.map((day, i) => ({ ...day, i })).filter(({ day }) => day >= "2025-05" && day < "2025-09");
  const least = summer.reduce((a, b) => (b.kwh < a.kwh ? b : a));
  const rows = await handle.rows(least.i * 96, least.i * 96 + 96);
  const dark = rows.filter(({ kwh, time }) => kwh === 0 && time.slice(11) >= "09" && time.slice(11) < "15");
  const total = Math.round(days.reduce((sum, { kwh }) => sum + kwh, 0));
  worst.push({ plant, total, day: least.day, from: dark[0].time, quarters: dark.length });
}
const failures = await keep(worst, "failures");
worst;
