"""Which kinds of rows a payload of the journal has, and where a row names its slot."""

import enum
from typing import Final


class Section(enum.IntEnum):
    """The kinds of rows of a payload, in the order in which a store applies them."""

    OPERATIONS = 0
    SCHEMAS = 1
    ERASURES = 2
    ENTITIES = 3
    EPISODES = 4
    CLAIMS = 5
    TRANSITIONS = 6
    CLOSED = 7
    OPENED = 8
    HIDDEN = 9
    SHOWN = 10
    SUPPORT = 11
    SLOTS = 12
    VERBATIMS = 13
    QUOTES = 14
    RECORDS = 15
    REMOVALS = 16
    TOMBSTONES = 17
    LIFTS = 18
    SECRETS = 19


SLOT_FIELD: Final = {
    Section.CLAIMS: 1, Section.CLOSED: 3, Section.OPENED: 3, Section.HIDDEN: 1, Section.SHOWN: 1,
    Section.SUPPORT: 0, Section.SLOTS: 0, Section.REMOVALS: 0,
}  # fmt: skip
"""Where a row of a section names its slot; its value, where it has one, stands next to it."""
