"""The check of types: a cell is read by TypeScript's own compiler before anything of it runs.

One Node process checks the cells of all sessions of a host process; `checker/` is its code, and
`typescript.br` the compiler. It holds no state of a session: a request has the declarations of what
is on offer, and the types of the variables of earlier cells, which the answers to those were.

Tried before: the language server of the `deno` wheel (45 ms a cell, 1.3 s for the first) and the
native compiler's. They answer with texts for people. What decides here is the type of a receiver,
where a fault stands, and what a function of the host would refuse, so the checker needs the types
themselves. A language server also reads files that a cell names.
"""
