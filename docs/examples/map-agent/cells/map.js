// One subagent reads each part; the code adds up what they found. No ticket returns to the model.
const tickets = (await files.read("/tickets.txt")).split(/\n(?=# )/);
const size = Math.ceil(tickets.length / 100);
const parts = [];
for (let at = 0; at < tickets.length; at += size) parts.push(tickets.slice(at, at + size));

const number = { type: "integer" };
const responseSchema = {
  type: "object",
  properties: {
    causes: {
      type: "object",
      properties: { delivery: number, defect: number, billing: number, account: number },
    },
    hazards: { type: "array", items: number, description: "numbers of tickets about fire or injury" },
  },
  required: ["causes", "hazards"],
};
const description = "Count the tickets that complain of each cause, and list those about a hazard.";
const read = await Promise.allSettled(
  parts.map((part, i) =>
    task({
      description: `${description}\n\n${part.join("\n")}`,
      subagentType: "reader",
      label: `part ${i + 1} of ${parts.length}`,
      responseSchema,
    }),
  ),
);

const found = read.filter(({ status }) => status === "fulfilled").map(({ value }) => value);
const failures = {}; // why parts are missing, by the kind of error
for (const { status, reason } of read) if (status === "rejected") failures[reason.name] = reason.message;
const causes = {};
for (const one of found)
  for (const [cause, count] of Object.entries(one.causes)) causes[cause] = (causes[cause] ?? 0) + count;
({
  tickets: tickets.length,
  parts: parts.length,
  read: found.length,
  causes,
  hazards: found.flatMap(({ hazards }) => hazards),
  failures,
});
