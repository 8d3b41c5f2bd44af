"""`interpstack demo --workflow`: a workflow of agents that count the files of a folder."""
