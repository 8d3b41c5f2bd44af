"""One cell, from its start to its outcome."""
