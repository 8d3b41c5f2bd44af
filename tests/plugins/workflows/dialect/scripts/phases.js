#!/usr/bin/env workflow
/* A script of one line before its body, to keep the columns. */ export const meta = { name: 'stages', description: 'Names the phase of each agent', phases: [{ title: 'Scan', detail: 'all files' }, { title: 'Fix', model: 'small' }] }; "use strict";

phase('Scan')
const first = await agent('scan')
const both = await Promise.all([agent('fix', { phase: 'Fix' }), agent('scan again')])
phase('A phase that is announced nowhere')
const last = await agent('tidy')

counting: for (const word of ['return', 'phase']) {
  for (const letter of word) if (letter === 'h') break counting
}

class Count {
  #all = []
  add(...some) {
    this.#all.push(...some)
    return this
  }
  get size() {
    return this.#all.length
  }
}

return new Count().add(first, ...both, last).size // no line break follows