// Searches one source; its name is that of the budget that all of these children share.
export const meta = {
  name: "search-source",
  description: "Finds the lines of one source that have all terms",
  argsSchema: {
    type: "object",
    properties: { source: { type: "string" }, terms: { type: "array", items: { type: "string" } } },
    required: ["source", "terms"],
  },
};

export default ({ source, terms }) =>
  agent(JSON.stringify({ source, terms }), {
    agentType: "searcher",
    label: source,
    schema: { type: "array", items: { type: "string" }, maxItems: 20 },
  });
