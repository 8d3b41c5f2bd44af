"""Kept realms: engines keep the live realms of cells that wait."""
