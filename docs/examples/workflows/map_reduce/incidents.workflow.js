// Map-reduce: one agent reads each report, others merge the summaries in groups until one is left.
export const meta = {
  name: "incidents",
  description: "Counts the causes of incidents in any number of reports",
  phases: [{ title: "Map", detail: "one reader for each report" }, { title: "Reduce", detail: "groups of 25" }],
  argsSchema: {
    type: "object",
    properties: { paths: { type: "array", items: { type: "string" }, minItems: 1, uniqueItems: true } },
    required: ["paths"],
    additionalProperties: false,
  },
};

const GROUP = 25;
const SUMMARY = {
  type: "object",
  properties: {
    reports: { type: "integer", minimum: 1 },
    causes: { type: "object", additionalProperties: { type: "integer", minimum: 1 } },
  },
  required: ["reports", "causes"],
  additionalProperties: false,
};

export default async ({ paths }) => {
  phase("Map");
  const read = (path) => agent(`Summarise the incidents of the report ${JSON.stringify(path)}.`, {
    agentType: "reader",
    label: path,
    schema: SUMMARY,
    retry: { maxAttempts: 2, backoffMs: 100 },
  });
  // A few reports may be unreadable; if one in fifty is, something else is wrong.
  const mapped = await parallel.settled(paths.map((path) => () => read(path)), {
    maxFailures: Math.floor(paths.length / 50),
  });
  const unread = mapped.flatMap(({ ok, error }, i) => (ok ? [] : [{ path: paths[i], reason: error.message }]));
  if (unread.length === paths.length) throw new Error(`no report could be read: ${unread[0].reason}`);

  phase("Reduce");
  let summaries = mapped.filter(({ ok }) => ok).map(({ value }) => value);
  for (let round = 1; summaries.length > 1; round++) {
    const groups = groupsOf(summaries);
    log(`round ${round}: ${summaries.length} summaries in ${groups.length} groups`);
    // A lost group would falsify the total, so that the first failure ends the run; it can be resumed.
    summaries = await parallel(groups.map((group, i) => () => merged(group, `round ${round}, group ${i + 1}`)), {
      failFast: true,
    });
  }
  const [total] = summaries;
  const expected = paths.length - unread.length;
  if (total.reports !== expected) throw new Error(`the total covers ${total.reports} of ${expected} reports`);
  return { ...total, unread };
};

function groupsOf(list) {
  const groups = [];
  for (let at = 0; at < list.length; at += GROUP) groups.push(list.slice(at, at + GROUP));
  return groups;
}

function merged(group, label) {
  if (group.length === 1) return group[0];
  return agent(`Add up these summaries:\n${JSON.stringify(group)}`, { agentType: "merger", label, schema: SUMMARY });
}
