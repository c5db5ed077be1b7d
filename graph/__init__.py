"""Storing and reading: the store contract, its stores, and the questions asked of them."""
