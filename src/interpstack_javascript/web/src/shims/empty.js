// Stands in for the legacy multi-byte encodings: URLs here are always UTF-8.
