"""Evals: from the model's code to the message that answers it."""
