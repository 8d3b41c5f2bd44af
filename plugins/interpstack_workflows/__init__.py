"""Workflows: modules that orchestrate agents, and go on after a crash, a pause or a restart."""
