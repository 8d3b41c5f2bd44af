"""A cell while it runs: its turns, its system calls, what it emits, and its cancellation."""
