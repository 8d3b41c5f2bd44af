"""The heap of a guest: what it starts with, what its allocator holds, and its image."""
