"""Processes and wires: HTTP, the command line, settings and the wiring."""
