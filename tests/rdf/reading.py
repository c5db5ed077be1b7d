"""How the rows of a ledger are read back from RDF, written without a look at how they were written.

Whatever column can be read back is there; `read_back` gives rows as `ledger_row` does.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Final

import pyoxigraph as ox

from ontology.instants import OPEN_END, OPEN_START, parse_instant

RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
PROV: Final = "http://www.w3.org/ns/prov#"
VIG: Final = "urn:vigencia:ns#"
XSD: Final = "http://www.w3.org/2001/XMLSchema#"
DATATYPES: Final = {
    XSD + "string": "text", XSD + "integer": "integer", XSD + "boolean": "boolean", XSD + "gYear": "date",
    XSD + "gYearMonth": "date", XSD + "date": "date", XSD + "dateTime": "datetime", XSD + "duration": "duration",
    RDF + "JSON": "json", RDF + "langString": "langtext", XSD + "decimal": "decimal",
}  # fmt: skip
STARTS: Final = {"Known": 0, "Unknown": 1, "Infinite": 2}
ENDS: Final = {"Known": 0, "Open": 1, "Infinite": 2, "Unknown": 3}
TRUSTS: Final = {"Untrusted": 0, "Inferred": 1, "Observed": 2, "Confirmed": 3, "Verified": 4}

Row = tuple[Any, ...]


class Back:
    """The statements by their subjects."""

    def __init__(self, quads: Iterable[ox.Quad]) -> None:
        self._said: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
        self._of_type: dict[str, list[str]] = defaultdict(list)
        for quad in quads:
            node, predicate, object = str(quad.subject)[1:-1], quad.predicate.value, quad.object
            self._said[node][predicate].append(object)
            if predicate == RDF + "type":
                self._of_type[object.value].append(node)  # type: ignore[union-attr]

    def rows(self, kind: str) -> list[Row]:
        of_type = {
            "schema": "Schema", "entity": "Entity", "episode": "Episode", "kept": "Artifact", "claim": "Claim",
            "transition": "Transition", "version": "FactVersion", "support": "Support", "quote": "Quote",
            "record": "EpisodeRecord", "tombstone": "Tombstone",
        }[kind]  # fmt: skip
        nodes = self._of_type[VIG + of_type]
        if kind == "episode":  # the others belong to another scope, and a claim of this one only names them
            nodes = [node for node in nodes if VIG + "root" in self._said[node]]
        return [getattr(self, f"_{kind}")(node) for node in nodes]

    # ---- rows

    def _schema(self, node: str) -> Row:
        return int(self._text(node, "schemaVersion")), self._text(node, "document")

    def _entity(self, node: str) -> Row:
        return local(node), self._text(node, "namespace"), self._maybe(node, "key")

    def _episode(self, node: str) -> Row:
        by = self._agent(node, PROV + "wasAttributedTo")
        return self._episode_id(node), by, self._instant(node, "occurredAt"), self._text(node, "root")

    def _episode_id(self, node: str) -> str:
        given = self._said[node].get("http://purl.org/dc/terms/identifier")
        return given[0].value if given else local(node)

    def _kept(self, node: str) -> Row:
        (episode,) = [about for about in self._said if self._points(about, "verbatim") == node]
        return local(episode), *self._scope(node), self._octets(node, "contentHash")

    def _claim(self, node: str) -> Row:
        slot, asserts = self._one(node, "slot"), VIG + "Assertion" in self._types(node)
        derived = self._said[node].get(PROV + "wasDerivedFrom")
        episode = None if not derived else self._episode_id(derived[0].value)
        return (
            local(node), *self._slot(slot), self._position(node), int(self._text(node, "ordinal")),
            self._instant(node, "observedAt"), int(asserts), self._yes(node, "functional"),
            self._octets(node, "valueKey"), *self._value(node, VIG + "object"),
            STARTS[self._word(node, "startKind")],
            self._bound(node, "startEarliest", OPEN_START), self._bound(node, "startLatest", OPEN_START),
            ENDS[self._word(node, "endKind")],
            self._bound(node, "endEarliest", OPEN_END), self._bound(node, "endLatest", OPEN_END),
            self._maybe(node, "statedFrom"), self._maybe(node, "statedUntil"), self._maybe(node, "statedZone"),
            self._maybe(node, "dateSemantics"), self._yes(node, "observedStated"),
            self._agent(node, PROV + "wasAttributedTo"), episode, self._text(node, "root"),
            float(self._text(node, "confidence")), int(local(self._one(node, "underSchema")).removeprefix("sch_")),
            self._agent(node, VIG + "committedBy"), self._time(node, "generatedAtTime"),
            TRUSTS[self._word(node, "trust")], self._yes(node, "echo"), self._bound(node, "expiresAt", OPEN_END),
        )  # fmt: skip

    def _transition(self, node: str) -> Row:
        successor, on = self._points(node, "successor"), self._maybe(node, "decidedOn")
        return (
            local(self._one(node, "ofClaim")), self._word(node, "state").lower(), self._text(node, "rule"),
            self._text(node, "reasonGiven"), self._agent(node, PROV + "wasAttributedTo"), self._position(node),
            self._time(node, "generatedAtTime"), None if on is None else int(on), successor and local(successor),
        )  # fmt: skip

    def _version(self, node: str) -> Row:
        (slot,) = self._said[node][PROV + "specializationOf"]
        over = self._said[node].get(PROV + "invalidatedAtTime")
        return (
            local(node), *self._slot(slot.value), self._position(node), int(self._text(node, "ordinal")),
            self._octets(node, "valueKey"), *self._value(node, RDF + "object"),
            int(self._word(node, "certainty") == "Certain"), self._bound(node, "validFrom", OPEN_START),
            self._bound(node, "validUntil", OPEN_END), self._time(node, "generatedAtTime"),
            micros(over[0].value) if over else OPEN_END,
        )  # fmt: skip

    def _support(self, node: str) -> Row:
        return (
            *self._slot(self._one(node, "slot")), self._octets(node, "valueKey"), self._time(node, "generatedAtTime"),
            int(self._text(node, "sources")), int(self._text(node, "occurrences")), float(self._text(node, "doubt")),
        )  # fmt: skip

    def _quote(self, node: str) -> Row:
        words = self._said[node][PROV + "value"][0].value
        return local(self._one(node, "quotedBy")), *self._place(node), words

    def _record(self, node: str) -> Row:
        (episode,) = self._said[node][PROV + "wasDerivedFrom"]
        parts: dict[str, list[tuple[int, list[Any]]]] = defaultdict(list)
        for place in self._said[node][VIG + "passage"]:
            at = place.value
            parts[self._word(at, "part")].append((int(self._text(at, "ordinal")), list(self._place(at))))
        cited = [
            [place for _, place in sorted(parts[part], key=lambda each: each[0])]
            for part in ("Sentence", "Attempted", "Happened", "Decision", "Outcome")
        ]
        document = json.dumps(cited, separators=(",", ":"))
        scope = self._scope(node)
        return local(episode.value), *scope, self._text(node, "madeBy"), self._maybe(node, "summary"), document

    def _tombstone(self, node: str) -> Row:
        predicate, lift = self._points(node, "predicate"), self._points(node, "liftedBy")
        gone = sorted((each.value for each in self._said[node][VIG + "forgot"]), key=str)
        named: dict[str, list[str]] = defaultdict(list)
        for each in gone:
            named[each.rsplit("/", 2)[1]].append(local(each))
        document = [
            local(node), *self._scope(node), self._text(node, "target"), self._text(node, "manifest"),
            (subject := self._points(node, "subject")) and local(subject), predicate and self._name(predicate),
            sorted(named["entity"] + named["episode"]),
            sorted(local(each.value) for each in self._said[node][VIG + "restated"]), sorted(named["claim"]),
            sorted(named["fact"]), sorted(each.value for each in self._said[node][VIG + "mark"]),
            json.loads(self._text(node, "counts")), self._text(node, "blocks") == "true",
        ]  # fmt: skip
        lifted = (None, None, None) if lift is None else (
            self._agent(node, VIG + "liftedFor"), int(self._text(lift, "position")), self._instant(node, "liftedAt")
        )  # fmt: skip
        by = self._agent(node, PROV + "wasAttributedTo")
        return document, by, self._position(node), self._time(node, "generatedAtTime"), *lifted

    # ---- parts

    def _types(self, node: str) -> set[str]:
        return {each.value for each in self._said[node][RDF + "type"]}

    def _maybe(self, node: str, name: str) -> str | None:
        found = self._said[node].get(VIG + name)
        assert found is None or len(found) == 1, (node, name)
        return found[0].value if found else None

    def _text(self, node: str, name: str) -> str:
        found = self._maybe(node, name)
        assert found is not None, (node, name)
        return found

    _one = _text
    _points = _maybe

    def _word(self, node: str, name: str) -> str:
        return self._text(node, name).removeprefix(VIG)

    def _yes(self, node: str, name: str) -> int:
        return int({"true": True, "false": False}[self._text(node, name)])

    def _octets(self, node: str, name: str) -> bytes | None:
        found = self._maybe(node, name)
        return None if found is None else bytes.fromhex(found)

    def _instant(self, node: str, name: str) -> int | None:
        found = self._maybe(node, name)
        return None if found is None else micros(found)

    def _bound(self, node: str, name: str, otherwise: int) -> int:
        found = self._instant(node, name)
        return otherwise if found is None else found

    def _time(self, node: str, name: str) -> int:
        (found,) = self._said[node][PROV + name]
        return micros(found.value)

    def _position(self, node: str) -> int:
        (activity,) = self._said[node][PROV + "wasGeneratedBy"]
        return int(self._text(activity.value, "position"))

    def _agent(self, node: str, predicate: str) -> str:
        (agent,) = self._said[node][predicate]
        return str(self._said[agent.value]["http://www.w3.org/2000/01/rdf-schema#label"][0].value)

    def _name(self, predicate: str) -> str:
        return self._text(predicate, "name")

    def _scope(self, node: str) -> tuple[str, str]:
        return self._text(node, "namespace"), self._text(node, "purpose")

    def _slot(self, node: str) -> Row:
        subject, predicate = self._one(node, "subject"), self._one(node, "predicate")
        return *self._scope(node), local(subject), self._name(predicate), self._maybe(node, "language") or ""

    def _place(self, node: str) -> Row:
        turn = self._maybe(node, "turn")
        return None if turn is None else int(turn), int(self._text(node, "charStart")), int(self._text(node, "charEnd"))

    def _value(self, node: str, predicate: str) -> Row:
        found = self._said[node].get(predicate)
        if not found:
            return None, None, None
        (term,) = found
        if isinstance(term, ox.NamedNode):
            return "entity", local(term.value), ""
        kind, qualifier = DATATYPES[term.datatype.value], term.language or ""
        unit = self._maybe(node, "unit")
        if unit is not None:
            return "quantity", term.value, unit
        slot = self._maybe(node, "slot") or self._said[node][PROV + "specializationOf"][0].value
        if kind == "text" and self._maybe(slot, "language"):  # a tag that RDF has no literal for
            kind, qualifier = "langtext", self._text(slot, "language")
        dated = kind in ("date", "datetime")
        return kind, signed(term.value) if dated else term.value, qualifier


def local(node: str) -> str:
    return node.rsplit("/", 1)[1]


def signed(date: str) -> str:
    """ISO 8601 for what XSD writes without a sign: more than four digits of a year."""
    year = date.split("-", 1)[0]
    return f"+{int(year):06d}{date[len(year) :]}" if len(year) > 4 else date


def micros(date: str) -> int:
    return parse_instant(signed(date))


def comparable(kind: str, rows: Iterable[Row]) -> Iterator[Row]:
    """The rows of a ledger, those of tombstones without the order of their lists, which RDF has not."""
    for row in rows:
        if kind != "tombstone":
            yield row
            continue
        document = json.loads(row[0])
        for index in (7, 8, 9, 10):
            document[index] = sorted(document[index])
        document[11] = sorted(f"{kind}:{digest}" for kind, digest in document[11])
        yield document, *row[1:]
