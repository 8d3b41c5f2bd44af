"""Sources for the inspector: databases of checkpointers, and agents."""
