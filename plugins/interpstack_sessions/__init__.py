"""The plugin `sessions`: sessions sleep in a store, and other processes go on with them."""
