"""Contracts of engines, bridges, languages and plugins, and the data they exchange."""
