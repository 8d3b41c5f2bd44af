// A pipeline with a schema: each invoice is extracted, checked by this script, and booked; an answer that
// does not fit the schema is asked for again by the runner, one that does not add up by this script.
export const meta = {
  name: "invoices",
  description: "Extracts invoices from texts, checks their sums and books them",
  phases: [{ title: "Invoices" }],
  argsSchema: {
    type: "object",
    properties: { texts: { type: "array", items: { type: "string" }, maxItems: 1000 } },
    required: ["texts"],
    additionalProperties: false,
  },
};

const cents = { type: "integer", minimum: 1 }; // whole numbers: sums of fractions would not be exact
const INVOICE = {
  type: "object",
  properties: {
    number: { type: "string", minLength: 1 },
    items: {
      type: "array",
      items: {
        type: "object",
        properties: { name: { type: "string" }, cents },
        required: ["name", "cents"],
        additionalProperties: false,
      },
      minItems: 1,
    },
    total: cents,
  },
  required: ["number", "items", "total"],
  additionalProperties: false,
};

export default async ({ texts }) => {
  phase("Invoices");
  // No barrier between the stages: the first invoice may be booked while the last is extracted.
  const settled = await pipeline.settled(texts, extract, check, book);
  return {
    booked: settled.flatMap(({ ok, value }) => (ok ? [value] : [])),
    refused: settled.flatMap(({ ok, error }, i) => (ok ? [] : [{ text: i, name: error.name, reason: error.message }])),
  };
};

function extract(text, _, i, hint = "") {
  const prompt = `Extract the invoice as JSON, with amounts in cents.${hint}\nText: ${JSON.stringify(text)}`;
  return agent(prompt, { agentType: "extractor", label: `text ${i}`, schema: INVOICE });
}

async function check(invoice, text, i) {
  if (sumOf(invoice) === invoice.total) return invoice;
  const hint = ` The items have to add up to the total; last time they came to ${sumOf(invoice)} of ${invoice.total}.`;
  const again = await extract(text, text, i, hint);
  if (sumOf(again) !== again.total) throw new Error(`the items add up to ${sumOf(again)}, the total is ${again.total}`);
  return again;
}

// The books refuse a number that is booked already; that text is refused then, and the others go on.
async function book(invoice, _, i) {
  const booking = await agent(JSON.stringify(invoice), { agentType: "books", label: `invoice ${invoice.number}` });
  return { text: i, number: invoice.number, total: invoice.total, booking };
}

const sumOf = ({ items }) => items.reduce((sum, item) => sum + item.cents, 0);
