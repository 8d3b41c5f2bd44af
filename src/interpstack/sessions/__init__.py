"""Sessions: the cells of one conversation in order, and the state between them."""
