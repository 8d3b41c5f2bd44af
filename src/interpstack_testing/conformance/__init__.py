"""Tests that every engine, bridge and persistence mode must pass. Needs pytest and hypothesis."""
