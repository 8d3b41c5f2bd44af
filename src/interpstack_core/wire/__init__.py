"""Values that cross to a guest, and the forms in which they cross."""
