"""What is installed, what it can do, and whether it works."""
