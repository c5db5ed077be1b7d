"""Forgetting: what goes, how it goes, what is told of it."""
