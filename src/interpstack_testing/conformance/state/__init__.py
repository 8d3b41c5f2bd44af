"""The state of a realm: saved, undone, exchanged between engines, repeated and closed."""
