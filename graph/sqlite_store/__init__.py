"""The memory store on SQLite."""
