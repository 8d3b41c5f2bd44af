export const meta = { name: 'try-again', description: 'Tries each page up to three times' }

async function attempt(page) {
  for (let round = 1; round <= 3; round++) {
    const read = await agent(`Read ${page}, round ${round}`, { label: `${page}#${round}` })
    if (read !== null) return { page, round, read }
    log(`${page}: round ${round} gave nothing`)
  }
  return null
}

const pages = await parallel(args.map((page) => () => attempt(page)))
return { read: pages.filter(Boolean), lost: args.filter((page, at) => !pages[at]) }
