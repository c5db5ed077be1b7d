"""How the words that claims quote are taken out of a payload for a backup, and put back.

A quote stands in the payload of whom the claim is about, and is the words of another: of the episode it is from. So it
is sealed under the key of that episode, and goes where the episode goes; what else is in the payload stays.
"""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from graph.journal_rows import dump
from graph.journal_sections import Section
from ontology.events import Payload
from ontology.ids import EpisodeId, is_recorded

Texts = dict[str, str]
"""What each claim quotes, by its id."""

_TEXT: Final = 4
"""Where a row of a quote has its words."""
_EPISODE: Final = 20
"""Where a row of a claim has its episode."""


def without_quotes(payload: Payload) -> tuple[bytes, dict[EpisodeId, Texts]]:
    """The body of a payload without the words of recorded episodes, and these, by episode.

    A body that would not come back to the byte is left as it is.
    """
    document: Any = orjson.loads(payload.body)
    sections = document[3] if isinstance(document, list) and len(document) == 5 else []
    if len(sections) <= Section.QUOTES or not sections[Section.QUOTES] or dump(document) != payload.body:
        return payload.body, {}
    cites = {row[0]: row[_EPISODE] for row in sections[Section.CLAIMS]}
    found: dict[EpisodeId, Texts] = {}
    for row in sections[Section.QUOTES]:
        episode = cites.get(row[0])
        if episode is not None and is_recorded(episode):
            found.setdefault(EpisodeId(episode), {})[row[0]] = row[_TEXT]
            row[_TEXT] = None
    return (dump(document), found) if found else (payload.body, {})


def with_quotes(body: bytes, texts: Mapping[str, str]) -> bytes:
    """The body again, with these words put back; quotes that miss their words go."""
    document: Any = orjson.loads(body)
    *_, sections, places = document
    quotes = sections[Section.QUOTES]
    for row in quotes:
        if row[_TEXT] is None:
            row[_TEXT] = texts.get(row[0])
    left = [index for index, row in enumerate(quotes) if row[_TEXT] is not None]
    sections[Section.QUOTES] = [quotes[index] for index in left]
    if places is not None and len(places) > Section.QUOTES and places[Section.QUOTES] is not None:
        places[Section.QUOTES] = [places[Section.QUOTES][index] for index in left]
    return dump(document)
