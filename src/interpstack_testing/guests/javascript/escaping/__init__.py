"""Code that reaches for the host, or for the kernel in its own realm."""
