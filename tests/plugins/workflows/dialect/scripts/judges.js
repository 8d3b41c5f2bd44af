export const meta = {
  name: 'best-of',
  description: 'Several drafts, each scored by a panel; the best one is refined',
  phases: [{ title: 'Draft' }, { title: 'Judge', model: 'careful' }, { title: 'Refine' }],
}

const STYLES = ['short', 'plain', 'bold']
const SCORE = { type: 'object', properties: { score: { type: 'number' } }, required: ['score'] }

phase('Draft')
const drafts = (await parallel(STYLES.map((style) => () => agent(`Draft, ${style}`, { effort: 'low' })))).filter(Boolean)

phase('Judge')
const panel = await Promise.all(
  drafts.map(async (draft, at) => {
    const votes = await parallel([1, 2, 3].map((judge) => () => agent(`Judge ${judge}: ${draft}`, { schema: SCORE, effort: 'high' })))
    const scores = votes.filter(Boolean).map((vote) => vote.score)
    return { at, total: scores.reduce((sum, score) => sum + score, 0) }
  }),
)
const best = panel.sort(byTotal)[0]

phase('Refine')
return { best: drafts[best.at], total: best.total, final: await agent(`Refine: ${drafts[best.at]}`) }

function byTotal(one, other) {
  return other.total - one.total || one.at - other.at
}
