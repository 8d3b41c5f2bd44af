"""The contract between the inspector and the adapters whose records it shows."""
