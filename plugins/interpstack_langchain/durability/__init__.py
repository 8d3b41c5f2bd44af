"""Durability: records from which evals resume after a pause or a crash, and records of spending."""
