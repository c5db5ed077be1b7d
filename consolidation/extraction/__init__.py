"""From what was said or read to candidates: proposals that are checked and decided elsewhere."""
