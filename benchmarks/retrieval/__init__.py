"""How well evidence is found for questions, beside a plain BM25 over the same words."""
