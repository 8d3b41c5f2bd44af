"""The preset `js_repl`: a persistent JavaScript REPL whose helpers are on one global, `codex`."""
