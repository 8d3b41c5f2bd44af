"""Messages of clients, checked before the SDK acts on them."""
