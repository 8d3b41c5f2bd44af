"""Agents of workflows that are made with LangChain: graphs, chat models, runnables."""
