"""The HTTP routes, one module for each kind of thing they serve."""
