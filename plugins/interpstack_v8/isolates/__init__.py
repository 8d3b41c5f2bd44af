"""Isolates of V8: heaps with a thread each, driven through jsrun."""
