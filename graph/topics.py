"""Which predicates does a question speak of? By the words of their names, labels and sentences. Pure."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from graph.sentences import label
from graph.terms import terms
from ontology.patterns import Meaning
from ontology.schema import Cardinality, Kind, Predicate, Schema

_SMALL: Final = """
a about also am an and any are as at be been being by can cannot could did do does ever for from had has have he her
his how i in is it its last may me might my not now of on or our please shall she should so that the their there these
they this those to us was we were what when where which who whom whose why will with would yet you your
"""
SMALL_WORDS: Final = frozenset(_SMALL.split())
"""What says nothing of a predicate, and names nobody where it is not written as a name."""
_ENDINGS: Final = ("ies", "ing", "ers", "ed", "es", "er", "s", "e", "y")
_STEM_CHARS: Final = 3
_KIND_SHARE: Final = 0.5
_PARTS: Final = re.compile(r"[^\W_]+")
_PLURALS: Final = {
    "children": "child", "men": "man", "people": "person", "wives": "wife", "women": "woman",
}  # fmt: skip
_APOSTROPHE: Final = "['’ʼ＇`´′]"
_NEGATED: Final = re.compile(rf"(?<![^\W_])(?:can|shan|won){_APOSTROPHE}t(?![^\W_])", re.IGNORECASE)
_ENCLITIC: Final = re.compile(
    rf"(?<=[^\W_])(?:n{_APOSTROPHE}t|{_APOSTROPHE}(?:s|re|ve|ll|d|m)?)(?![^\W_])", re.IGNORECASE
)
"""Of `Mira's`, `James'`, `isn't`, `they're`: what is no word of its own."""


def spoken_of(question: str, schema: Schema, names: Iterable[str]) -> dict[str, float]:
    """Of the predicates with these names, those that share a word with the question, the nearest first.

    With the share of the words of the name or of the label that stand in the question; a word that stands only in a
    sentence of the predicate counts for half of one, and one that names its kind, such as `preferences`, for half of
    them all.
    """
    asked = stems(question)
    shares = {name: _share(name, schema, asked) for name in dict.fromkeys(names)}
    found = [(name, share) for name, share in shares.items() if share > 0]
    return dict(sorted(found, key=lambda each: (-each[1], -len(stems(each[0]) & asked), each[0])))


def stems(text: str) -> frozenset[str]:
    """The words of a text that say something, without their endings."""
    words = (word for term in terms(unjoined(text)) for word in _PARTS.findall(term))
    return frozenset(_stem(word) for word in words if word not in SMALL_WORDS)


def telling(question: str) -> str:
    """The words of a question that say something, as they stand."""
    return " ".join(word for word in terms(unjoined(question)) if word not in SMALL_WORDS)


def unjoined(text: str) -> str:
    """A text with blanks for the ends of its possessives and contractions, which say nothing and name nobody."""
    return _ENCLITIC.sub(_blank, _NEGATED.sub(_blank, text))


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _share(name: str, schema: Schema, asked: frozenset[str]) -> float:
    own = [stems(name), stems(label(name, schema))]
    best = max((len(words & asked) / len(words) for words in own if words), default=0.0)
    declared = schema.predicates.get(name)
    if declared is not None and declared.kind is not Kind.FACT and stems(declared.kind.value.split("_")[-1]) & asked:
        return max(best, _KIND_SHARE)
    if best > 0:
        return best
    told = stems(" ".join(_literal(p.text) for p in declared.patterns)) if declared is not None else frozenset()
    return 0.5 / len(told) if told & asked else 0.0


def changed_by(event: str, schema: Schema) -> list[str]:
    """Predicates that take one value, whose change is told with this word, as `moved to` tells of a move; by name.

    A word of the name or the label tells of the value, and of no change.
    """
    noun = stems(event)
    return sorted(
        each.name
        for each in schema.predicates.values()
        if each.cardinality is Cardinality.FUNCTIONAL
        and noun
        and noun <= _words_of_change(each) - stems(each.name) - stems(each.label)
    )


def _words_of_change(predicate: Predicate) -> frozenset[str]:
    return stems(" ".join(_literal(each.text) for each in predicate.patterns if each.means is Meaning.CHANGE))


def _literal(pattern: str) -> str:
    return re.sub(r"\{[^}]*\}", " ", pattern)


def _stem(word: str) -> str:
    """Without its endings, so that `employ`, `employs` and `employer` are one."""
    word = _PLURALS.get(word, word)
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _STEM_CHARS:
            return _stem(word.removesuffix(ending))
    return word


def inverses(schema: Schema) -> Mapping[str, str]:
    """By the name under which it is read from value to subject: the predicate."""
    return {each.inverse: each.name for each in schema.predicates.values() if each.inverse is not None}
