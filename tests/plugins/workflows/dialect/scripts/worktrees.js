export const meta = { name: 'move-files', description: 'Agents that write at the same time, each in its own copy' }

const DONE = { type: 'object', properties: { done: { type: 'boolean' } }, required: ['done'] }
const [text, data, nothing] = await parallel([
  () => agent('Write a.txt', { isolation: 'worktree', label: 'a' }),
  () => agent('Write b.txt', { isolation: 'worktree', label: 'b', schema: DONE }),
  () => agent('Write nothing', { isolation: 'worktree' }),
])
return { text: text.toUpperCase(), done: data.done, nothing }
