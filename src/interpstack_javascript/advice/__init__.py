"""Advice beside the error of a cell, or beside a value that is `undefined`: what is there instead.

Loaded only for a cell that does not parse, failed or ended so.

* `named_paths`: what the code names at a place, from the tree of the cell.
* `absent_globals`: what other hosts of JavaScript have, and what is here instead.
* `refused`: what to write in place of a source that does not parse.
* `advising`: both compared with what the guest has and what is on offer.
"""
