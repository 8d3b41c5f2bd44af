// A search that stops at its limit: each source is searched by a child workflow; all children share one
// hard budget, and what they had found when it was used up is the answer.
export const meta = {
  name: "search",
  description: "Searches sources for terms until a budget is used up",
  phases: [{ title: "Search" }, { title: "Answer" }],
  argsSchema: {
    type: "object",
    properties: {
      terms: { type: "array", items: { type: "string" }, minItems: 1 },
      sources: { type: "array", items: { type: "string" }, minItems: 1, uniqueItems: true },
    },
    required: ["terms", "sources"],
    additionalProperties: false,
  },
};

const WAVE = 4; // sources that are searched at once

export default async ({ terms, sources }) => {
  const found = {};
  const failed = {};
  let stopped = null;

  async function search(source) {
    try {
      // Settled: a source that fails is noted; cancellation and faults of this script end the run.
      const [{ ok, value, error }] = await parallel.settled([
        () => workflow({ scriptPath: "search-source.workflow.js" }, { source, terms }),
      ]);
      if (ok) found[source] = value;
      else failed[source] = error.message;
    } catch (error) {
      // An exhausted budget escapes, too. It is caught here, so that searches in flight still count.
      if (error.name !== "BudgetExceeded") throw error;
      stopped ??= error.message;
    }
  }

  phase("Search");
  for (let at = 0; at < sources.length && stopped === null; at += WAVE)
    await parallel(sources.slice(at, at + WAVE).map((source) => () => search(source)), { failFast: true });
  if (stopped !== null) log(stopped);

  phase("Answer");
  const searched = sources.filter((source) => source in found); // in their order, whoever was first
  const hits = searched.flatMap((source) => found[source].map((line) => ({ source, line })));
  const answer = await agent(`Answer from these lines:\n${JSON.stringify({ terms, hits })}`, { agentType: "writer" });
  const left = sources.filter((source) => !(source in found) && !(source in failed));
  return { answer, searched, failed, left, stopped };
};
