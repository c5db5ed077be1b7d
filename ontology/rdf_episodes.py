"""How episodes, their words and what is made of them read as RDF.

Words are written only for whoever may read them: an artifact, its hashes, quotes, summaries. Without them a reader
learns that there was an episode, from whom, when, and which claims were drawn from it.
"""

import hashlib
from typing import Final

from ontology.claims import Episode, Source
from ontology.episodes import Cited, EpisodeRecord, Kept, Quote, SaidAt, SaidBy, Verbatim, WordsGone
from ontology.ids import EPISODE, EpisodeId, is_recorded, locate
from ontology.instants import Instant
from ontology.rdf import made, scoped, typed
from ontology.rdf_terms import DCTERMS, A, Iri, Names, Statement, Statements, instant, number, octets, prov, text, vig

_ENTITY, _FORMAT = prov("Entity"), Iri(DCTERMS + "format")
_PARTS: Final = {
    "sentences": "Sentence", "attempted": "Attempted", "happened": "Happened", "decisions": "Decision",
    "outcome": "Outcome",
}  # fmt: skip


def episode(names: Names, of: Episode, recorded_at: Instant | None) -> Statements:
    """One thing said or read. One that is only cited lives elsewhere: it has no generation, and its caller's id."""
    node = names.episode(of.id)
    yield from typed(node, vig("Episode"), _ENTITY)
    yield Statement(node, prov("wasAttributedTo"), names.source(of.source))
    yield Statement(node, vig("root"), text(of.root))
    if of.observed_at is not None:
        yield Statement(node, vig("occurredAt"), instant(of.observed_at))
    if not is_recorded(of.id):
        yield Statement(node, Iri(DCTERMS + "identifier"), text(of.id))
    elif recorded_at is not None:
        yield Statement(node, A, vig("RecordedEpisode"))
        place = locate(of.id, EPISODE)
        yield from made(names, node, place.ledger, place.position, recorded_at)


def cited(names: Names, id: EpisodeId, source: Source) -> Statements:
    """One that is only cited, as far as a claim tells that cites it."""
    node = names.episode(id)
    yield from typed(node, vig("Episode"), _ENTITY)
    yield Statement(node, prov("wasAttributedTo"), names.source(source))
    yield Statement(node, Iri(DCTERMS + "identifier"), text(id))


def kept(names: Names, of: Kept, *, words: bool) -> Statements:
    """That the words of an episode are kept, for whom; with `words`, the hash by which they are known again."""
    node, about = _artifact(names, of.episode), names.episode(of.episode)
    yield from typed(node, vig("Artifact"), _ENTITY)
    yield from scoped(node, of.scope)
    yield Statement(about, vig("verbatim"), node)
    if words:
        yield Statement(node, vig("contentHash"), octets(of.content))


def verbatim(names: Names, of: Verbatim | WordsGone) -> Statements:
    """The words themselves, for whoever may read them; of what was destroyed, when and why."""
    node = _artifact(names, of.kept.episode)
    if isinstance(of, WordsGone):
        yield Statement(node, A, vig("WordsGone"))
        yield Statement(node, vig("destroyedAt"), instant(of.at))
        yield Statement(node, vig("reasonGiven"), text(of.reason))
        return
    yield Statement(node, _FORMAT, text(of.media_type))
    yield Statement(node, vig("trust"), vig(of.vouched.trust.word.title()))
    yield Statement(node, vig("signed"), text(of.vouched.signed.value))
    for name, words in (
        ("signingKey", of.vouched.key), ("session", of.session), ("sourceUri", of.source_uri),
        *_times(of.said_at), *_me(of.me),
    ):  # fmt: skip
        if words is not None:
            yield Statement(node, vig(name), text(words))
    if isinstance(of.body, str):
        yield from _words(node, of.body)
        return
    for index, turn in enumerate(of.body):
        part = names.of("turn", f"{of.kept.episode}_turn_{index}")
        yield from typed(part, vig("Turn"), _ENTITY)
        yield Statement(node, vig("hasTurn"), part)
        yield Statement(part, vig("turn"), number(index))
        yield Statement(part, vig("speakerName"), text(turn.speaker))
        yield from _words(part, turn.text)
        for name, words in _times(turn.at):
            if words is not None:
                yield Statement(part, vig(name), text(words))


def quote(names: Names, of: Quote) -> Statements:
    """The words that a claim rests on, for whoever may read them. They go with the claim."""
    node = names.of("quote", f"quote_{of.claim}")
    yield from typed(node, vig("Quote"), _ENTITY)
    yield Statement(node, vig("quotedBy"), names.of("claim", of.claim))
    yield Statement(node, prov("value"), text(of.text))
    yield from _place(node, Cited(of.turn, of.start, of.end))


def record(names: Names, of: EpisodeRecord, *, words: bool) -> Statements:
    """What an episode comes down to: places in its words; with `words`, also a summary in words of its own."""
    local = f"record_{of.episode}"
    node, about = names.of("record", local), names.episode(of.episode)
    yield from typed(node, vig("EpisodeRecord"), _ENTITY)
    yield from scoped(node, of.scope)
    yield Statement(node, prov("wasDerivedFrom"), about)
    yield Statement(node, vig("madeBy"), text(of.made_by))
    if words and of.summary is not None:
        yield Statement(node, vig("summary"), text(of.summary))
    for field, part in _PARTS.items():
        for index, cited in enumerate(getattr(of, field)):
            place = names.of("passage", f"{local}_{field}_{index}")
            yield from typed(place, vig("Passage"), _ENTITY)
            yield Statement(node, vig("passage"), place)
            yield Statement(place, vig("part"), vig(part))
            yield Statement(place, vig("ordinal"), number(index))
            yield from _place(place, cited)


def _artifact(names: Names, id: EpisodeId) -> Iri:
    return names.of("artifact", f"words_{id}")


def _place(node: Iri, cited: Cited) -> Statements:
    if cited.turn is not None:
        yield Statement(node, vig("turn"), number(cited.turn))
    yield Statement(node, vig("charStart"), number(cited.start))
    yield Statement(node, vig("charEnd"), number(cited.end))


def _words(node: Iri, words: str) -> Statements:
    data = words.encode("utf-8", "surrogatepass")
    yield Statement(node, prov("value"), text(words))
    yield Statement(node, vig("byteLength"), number(len(data)))
    yield Statement(node, vig("sha256"), octets(hashlib.sha256(data).digest()))


def _times(at: SaidAt | None) -> tuple[tuple[str, str | None], ...]:
    return () if at is None else (("saidAt", at.text), ("saidZone", at.zone))


def _me(me: SaidBy | None) -> tuple[tuple[str, str], ...]:
    return () if me is None else (("speakerKey" if me.is_key else "speakerName", me.text),)
