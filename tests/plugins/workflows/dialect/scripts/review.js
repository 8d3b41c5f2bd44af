export const meta = {
  name: 'review-areas',
  description: 'Reviews each area and has every finding checked as soon as its area is done',
  phases: [{ title: 'Review' }, { title: 'Check' }],
}

const AREAS = [
  { key: 'tides', prompt: 'Review the tables of tides' },
  { key: 'maps', prompt: 'Review the maps' },
  { key: 'lamps', prompt: 'Review the lamps' },
]
const FINDINGS = { type: 'object', properties: { findings: { type: 'array', items: { type: 'string' } } }, required: ['findings'] }
const VERDICT = { type: 'object', properties: { real: { type: 'boolean' } }, required: ['real'] }

const checked = await pipeline(
  AREAS,
  (area) => agent(area.prompt, { label: `review:${area.key}`, phase: 'Review', schema: FINDINGS }),
  (review, area, index) =>
    parallel(
      review.findings.map((finding) => () =>
        agent(`Is this true? ${finding}`, { label: `check:${area.key}`, phase: 'Check', schema: VERDICT }).then((verdict) => ({
          index,
          area: area.key,
          finding,
          real: verdict.real,
        })),
      ),
    ),
)

return checked.filter(Boolean).flat().filter((one) => one && one.real)
