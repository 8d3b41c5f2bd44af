"""Code that engines run inside guests, by guest language."""
