"""How many tokens a model would read in a text. Pure."""

from typing import Final, Protocol

BYTES_PER_TOKEN: Final = 3


class Tokenizer(Protocol):
    """Counts what a budget is measured in."""

    @property
    def name(self) -> str:
        """For the answer to say by what was counted."""
        ...

    def count(self, text: str) -> int: ...


class ByteTokenizer:
    """A count without a vocabulary: a third of the bytes of UTF-8, rounded up.

    It is meant to be too high rather than too low: a budget that is kept by it is kept by the model too.
    """

    @property
    def name(self) -> str:
        return "bytes/3"

    def count(self, text: str) -> int:
        return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)


_conforms: type[Tokenizer] = ByteTokenizer
