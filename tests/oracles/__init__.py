"""Oracle files run through the real write and read paths: `python -m tests.oracles --help`."""
