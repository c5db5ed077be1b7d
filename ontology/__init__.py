"""The words and the rules, without I/O: time, claims, facts, schema, the fold."""
