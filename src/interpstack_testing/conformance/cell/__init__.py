"""One cell: its value, output, errors, requests and imports, and how it ends."""
