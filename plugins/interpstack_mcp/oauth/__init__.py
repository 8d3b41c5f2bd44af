"""Authorization of servers by OAuth 2.1, as their configuration describes it."""
