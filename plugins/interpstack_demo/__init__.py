"""`interpstack demo`: a deep agent that answers from the files of a folder."""
