"""Effects of the requests of scripts."""
