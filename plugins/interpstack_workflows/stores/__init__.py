"""Stores of runs: the contract, and the store in memory."""
