"""Agents as workflows call them, whatever they are made with."""
