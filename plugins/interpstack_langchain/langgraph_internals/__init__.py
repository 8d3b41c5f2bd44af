"""Every use of what LangGraph does not promise to keep."""
