"""Parking: engines keep the live realms of cells that wait."""
