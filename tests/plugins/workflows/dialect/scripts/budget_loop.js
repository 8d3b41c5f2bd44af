export const meta = { name: 'dig', description: 'Digs until the budget is nearly spent' }

const found = []
while (budget.total && budget.remaining() > 20) {
  const piece = await agent(`Dig ${found.length + 1}`)
  found.push(piece)
  log(`${found.length} found, ${budget.remaining()} left`)
}
return { found, spent: budget.spent() }
