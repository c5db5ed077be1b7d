"""How large the tests are: full counts with `VIGENCIA_SOAK=1` (`make soak`), about a tenth otherwise."""

import os
from typing import Final

SOAK: Final = os.environ.get("VIGENCIA_SOAK") == "1"

PROPERTY_MINUTES: Final = float(os.environ.get("VIGENCIA_PROPERTY_MINUTES") or 0)
"""For how long the properties are tried on random histories, beside their fixed examples; not at all by default."""

STRESS_SECONDS: Final = float(os.environ.get("VIGENCIA_STRESS_MINUTES") or 0) * 60 or 20.0
"""For how long readers ask the same while writers run."""


def scaled(full: int, tenth: int | None = None) -> int:
    """`full` in a soak; else `tenth`, by default a tenth of it and at least 1."""
    if SOAK:
        return full
    return max(1, full // 10) if tenth is None else tenth
