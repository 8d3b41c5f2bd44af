"""Durable workflows of this project beside those of DBOS and LangGraph."""
