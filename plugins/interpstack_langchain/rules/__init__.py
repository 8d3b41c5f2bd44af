"""Rules for calls from code: approvals and limits, of the interpreter and of other middleware."""
