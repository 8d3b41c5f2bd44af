export const meta = {
  name: 'survey-topic',
  description: 'Asks several researchers about a topic and merges what they found',
  whenToUse: 'For questions with more than one side',
  phases: [
    { title: 'Plan', detail: 'one agent chooses the angles' },
    { title: 'Search', detail: 'one agent for each angle' },
    { title: 'Merge' },
  ],
}

const topic = args.topic
phase('Plan')
const plan = await agent(`Name the angles of ${topic}`, {
  label: 'plan',
  schema: { type: 'object', properties: { angles: { type: 'array', items: { type: 'string' } } }, required: ['angles'] },
})
log(`${plan.angles.length} angles`)

phase('Search')
const found = await parallel(plan.angles.map((angle) => () => agent(`Search ${topic}: ${angle}`, { label: angle })))
const notes = found.filter(Boolean)
if (notes.length < found.length) log(`${found.length - notes.length} angles gave nothing`)

phase('Merge')
return { notes, report: await agent(`Merge:\n${notes.join('\n')}`) }
