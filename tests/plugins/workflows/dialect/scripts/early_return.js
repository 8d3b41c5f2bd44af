export const meta = { name: 'if-any', description: 'Ends early if there is nothing to do' }

const input = typeof args === 'string' ? JSON.parse(args) : args
if (!input || !input.files || input.files.length === 0) {
  log('nothing to do')
  return { done: 0, why: 'no files' }
}

for (const file of input.files) {
  const verdict = await agent(`Is ${file} worth it?`)
  if (verdict === 'stop') return { done: input.files.indexOf(file), why: `stopped at ${file}` }
}

return { done: input.files.length }
