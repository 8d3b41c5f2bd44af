"""Workflow modules on any JavaScript engine: how they are started, driven and answered."""
