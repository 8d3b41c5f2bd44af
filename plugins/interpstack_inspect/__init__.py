"""Inspector: web pages on recorded conversations of agents, served on the loopback address."""
