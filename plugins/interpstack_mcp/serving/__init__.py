"""A server that turns many tools into one that runs code."""
