"""Advice beside the error of a cell, or beside a value that is `undefined`: what is there instead.

Loaded only after a cell that failed or ended so.

* `named_paths`: what the code names at a place, from the tree of the cell.
* `absent_globals`: what other hosts of JavaScript have, and what is here instead.
* `advising`: both compared with what the guest has and what is on offer.
"""
