"""Deciding and writing: from what is said to what is believed."""
