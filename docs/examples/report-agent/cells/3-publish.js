// The report gets the handles, and the tool gets the rows.
await tools.publish({
  title: "Solar plants in 2025",
  lines: worst.map(
    ({ plant, total, from, quarters }) =>
      `${plant}: ${total} kWh; no power for ${quarters / 4} hours from ${from.replace("T", " ")}`,
  ),
  appendices: { ...readings, failures },
});
