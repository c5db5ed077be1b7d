"""How recalled memory is marked, so that it is known again when it comes back inside what is told. Pure.

A line of recalled memory ends with the marker of its fact version, `[recalled fct_… 1a2b3c4d]`. The check keeps a
marker that was cut or mistyped from naming another fact. It is no signature: whoever forges one only makes their own
claim raise nothing.
"""

import hashlib
import re
from typing import Final

from ontology.ids import FactId

_MARKER: Final = re.compile(r"\[recalled (?P<fact>fct_[a-z2-7]{1,60}_\d{1,19}_\d{1,19}) (?P<check>[0-9a-f]{8})\]")
MARKERS_MAX: Final = 100


def marker(fact: FactId) -> str:
    """What a recalled line of a fact version ends with."""
    return f"[recalled {fact} {_check(fact)}]"


def recalled(text: str) -> list[FactId]:
    """The fact versions whose markers a text carries, in order, each once; at most 100."""
    found = (FactId(match["fact"]) for match in _MARKER.finditer(text) if match["check"] == _check(match["fact"]))
    return list(dict.fromkeys(found))[:MARKERS_MAX]


def _check(fact: str) -> str:
    return hashlib.blake2b(f"recalled {fact}".encode(), digest_size=4).hexdigest()
