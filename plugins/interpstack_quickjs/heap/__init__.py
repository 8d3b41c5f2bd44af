"""The heap of a guest: its initial content, its free memory, and its image."""
