"""What a commit has from outside: its recorded time, the tag of its ledger, the salts of its payloads."""

from dataclasses import dataclass
from typing import Final

from graph.ports import Clock, Head, Randomness
from ontology.ids import Ledger
from ontology.instants import Instant

LEDGER_ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz234567"


@dataclass(frozen=True, slots=True)
class Commits:
    """From this clock and this chance."""

    clock: Clock
    randomness: Randomness

    def time_after(self, head: Head) -> Instant:
        """Recorded time strictly increases, whatever the clock does (rule 13)."""
        return Instant(max(self.clock.now(), head.recorded_at + 1))

    def ledger(self, head: Head) -> Ledger:
        """The tag of the tenant's ledger; a new one before its first commit."""
        return head.ledger or Ledger("".join(LEDGER_ALPHABET[byte % 32] for byte in self.randomness.bytes(8)))

    def salt(self) -> bytes:
        return self.randomness.bytes(32)
