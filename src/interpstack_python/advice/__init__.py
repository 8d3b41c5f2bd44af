"""Advice beside the error of a cell: what is there instead. Loaded only after a cell that failed.

* `named_paths`: what the code names in the lines of the error, from the tree of the cell.
* `absent_names`: what other languages and other Pythons have, and what is here instead.
* `advising`: both compared with what the guest has and what is on offer.
"""
