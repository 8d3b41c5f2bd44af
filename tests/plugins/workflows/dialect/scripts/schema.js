export const meta = { name: 'read-bills', description: 'Reads bills as data' }

const BILL = {
  type: 'object',
  additionalProperties: false,
  properties: { payee: { type: 'string' }, cents: { type: 'integer', minimum: 0 }, tags: { type: 'array', items: { enum: ['rent', 'food'] } } },
  required: ['payee', 'cents'],
}

const bills = await pipeline(args.files, (file) => agent(`Read ${file}`, { schema: BILL, label: file }))
let refused = null
try {
  await agent('Read the torn bill', { schema: BILL })
} catch (error) {
  refused = error.name
}
return { sum: bills.filter(Boolean).reduce((sum, bill) => sum + bill.cents, 0), payees: bills.map((bill) => bill && bill.payee), refused }
