"""All uses of LangGraph internals that are not part of its public interface."""
