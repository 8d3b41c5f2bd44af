"""The connection of host and worker: frames, and the messages in them."""
