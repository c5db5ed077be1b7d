"""How many tokens a text costs a model: an estimate that no real tokenizer exceeds, unless another one is handed in."""

from typing import Final, Protocol

BYTES_PER_TOKEN: Final = 3


class Tokenizer(Protocol):
    """Counts as a certain model counts."""

    def __call__(self, text: str) -> int: ...


def estimate(text: str) -> int:
    """A third of its bytes in UTF-8, rounded up: vocabularies have at least so many bytes to a token on average."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)


_conforms: Tokenizer = estimate
