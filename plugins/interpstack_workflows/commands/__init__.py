"""The command `interpstack workflow` and its parts."""
