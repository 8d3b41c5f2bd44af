"""Values, errors and results on their way between the guest and the wire."""
