"""Records as they are shown: rows of a timeline, marked code, parts of an answer."""
