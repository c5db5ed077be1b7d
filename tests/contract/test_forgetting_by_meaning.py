"""What was forgotten is near to nothing: no vector, no hit, no packet, no profile and no handoff has any of it.

Vectors are made outside of transactions, so that a text may be forgotten while an embedder has it. Each test lets that
happen at a place of its own, where the embedder is handed the text.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pytest

from consolidation.handoffs import Handoffs, NewHandoff
from graph.embedders import Rows
from graph.embedding import Asked, PatientEmbedder
from graph.handed import handed
from graph.indexing import Indexer
from graph.naming import names_of
from graph.packet import Beside, Limits, pack
from graph.ports import Reader
from graph.profile import PROFILE_NOTE, profile_of
from graph.ranking import BALANCED
from graph.recall import Asking, Searched, gather
from graph.reembedding import Reembedding
from graph.search import FoundFact, Sought, search
from graph.searching import ChunkHit, Statement, ToIndex
from graph.sentences import searched
from graph.tokens import CautiousTokenizer
from ontology.facts import AsOf, Fact, ends
from ontology.ids import EpisodeId, HandoffId
from ontology.instants import SECOND
from tests.conftest import SeededRandomness
from tests.contract.search_world import FAR, MANY
from tests.contract.test_forgetting import MARKER, Known, tell_everything
from tests.contract.world import CORE, SCOPE, World, claim
from tests.embedding import HashingEmbedder

PERSON: Final = f"{MARKER}-key"
QUESTIONS: Final = (
    f"Where does {MARKER} Vera live?", f"{MARKER} street", "Who moved to Oslo?", "Whom does bo know?", f"{PERSON} ill",
    f"What of {PERSON}?",
)  # fmt: skip
DONE: Final = ToIndex(statements=0, episodes=0, texts=0)


class Meanwhile(HashingEmbedder):
    """Lets something happen once it has made the vectors of the first texts with the marker in them."""

    def __init__(self, name: str, happens: Callable[[], object]) -> None:
        super().__init__(name)
        self._happens = happens
        self.happened = False

    def embed(self, texts: Sequence[str]) -> Rows:
        rows = super().embed(texts)
        if not self.happened and any(MARKER in text for text in texts):
            self.happened = True
            self._happens()
        return rows


@dataclass
class Meant:
    """A world in which much is told of one person, with what finds it by meaning."""

    known: Known
    episode: EpisodeId
    handoff: HandoffId

    @property
    def world(self) -> World:
        return self.known.world

    def indexer(self, embedder: HashingEmbedder) -> Indexer:
        return Indexer(store=self.world.store, clock=self.world.clock, core=CORE, embedder=PatientEmbedder(embedder))

    def reembed(self, embedder: HashingEmbedder) -> None:
        work = Reembedding(
            store=self.world.store, indexer=self.indexer(embedder), embedder=PatientEmbedder(embedder),
            sleep=lambda _: None,
        )  # fmt: skip
        work.reembed(SCOPE.tenant, told=lambda _: None)

    def answers(self, model: str = "first") -> str:
        """All that is answered to questions around the person by vectors, packets and profiles."""
        return "\n".join([*self.near(model), *self.packets(model), *self.profiles()])

    def near(self, model: str = "first") -> Iterator[str]:
        """The sentences and the words of episodes that have a vector."""
        embedder, as_of = HashingEmbedder(model), self.as_of()
        with self.world.store.read(SCOPE) as reader:
            for question in QUESTIONS:
                vector = embedder.embed_question(question)[0]
                facts = reader.near_facts(vector, model, as_of, predicates=None, history=True, limit=MANY)
                yield from (sentence_of(reader, hit.fact, as_of) for hit in facts)
                yield from (hit.text for hit in reader.near_chunks(vector, model, FAR, limit=MANY))

    def packets(self, model: str) -> Iterator[str]:
        """The text of each packet, and all that was searched for it."""
        with self.world.store.read(SCOPE) as reader:
            for question in QUESTIONS:
                yield from self._packet(reader, question, model)

    def _packet(self, reader: Reader, question: str, model: str) -> Iterator[str]:
        as_of, schema = self.as_of(), reader.schema()
        assert schema is not None
        vector = HashingEmbedder(model).embed_question(question)[0]
        meaning = Asked(vector=vector, model=model, text_alone=None, detail="")
        sought = Sought(
            text=question, as_of=as_of, served_at=as_of.known_at, limit=50, facts=True, episodes=True,
            kinds=frozenset(), predicates=frozenset(), about=(), near=(), history=False, held=True, policy=BALANCED,
        )  # fmt: skip
        items = [item for item, _ in search(reader, schema, sought, meaning, lambda: 0.0).items]
        facts = [item.fact for item in items if isinstance(item, FoundFact)]
        quotes = [item for item in items if isinstance(item, ChunkHit)]
        asking = Asking(text=question, as_of=as_of, kinds=(), deadline=1e9)
        gathered = gather(reader, schema, asking, lambda: 0.0, lambda _: Searched(facts=facts, quotes=quotes))
        limits = Limits(tokens=16_000, lines=200, deadline=1e9)
        beside = Beside(held=0, waiting=0, more_waiting=False, remarks=())
        yield pack(reader, schema, gathered, as_of, limits, beside, CautiousTokenizer(), lambda: 0.0).text
        yield from map(str, items)

    def profiles(self) -> Iterator[str]:
        as_of = self.as_of()
        with self.world.store.read(SCOPE) as reader:
            schema = reader.schema()
            assert schema is not None
            for entity in reader.list_entities(as_of, type=None, name=None, limit=MANY, after=None):
                profile = profile_of(reader, entity.id, as_of, schema)
                yield from (line.text for line in profile.lines)

    def handed(self) -> str:
        kept = self.world.store.handoffs.handoff(SCOPE, self.handoff)
        as_of = self.as_of()
        with self.world.store.read(SCOPE) as reader:
            schema = reader.schema()
            assert schema is not None
            return handed(reader, schema, kept, as_of, as_of.known_at).text

    def as_of(self) -> AsOf:
        return AsOf(valid_at=self.world.clock.now(), known_at=self.world.now())


def sentence_of(reader: Reader, fact: Fact, as_of: AsOf) -> str:
    version = fact.version
    names = names_of(reader, ends(version.slot, version.value), as_of)
    return searched(Statement(slot=version.slot, value=version.value, value_key=version.value_key), names, CORE)


@pytest.fixture
def meant(world: World) -> Meant:
    known = Known(world)
    episode = tell_everything(known)
    told = world.write(
        claim(PERSON, "has_skill", f"{MARKER} sails"), claim(PERSON, PROFILE_NOTE, f"{MARKER} is at hand"),
        claim("bo", "has_skill", "rows"),
    )  # fmt: skip
    opened = [item["opened"][0] for item in told["items"]]
    handoffs = Handoffs(store=world.store, clock=world.clock, randomness=SeededRandomness(7))
    new = NewHandoff(
        receiver=None, task=f"call {MARKER} Vera", requirements=[f"{PERSON} agrees", "by noon"], constraints=(),
        format=None, facts=opened, rejected=[(f"ask {MARKER} Vera", None)], ttl="P30D",
    )  # fmt: skip
    made = str(handoffs.make(SCOPE, "tester", new).receipt["id"])
    world.clock.advance(SECOND)
    return Meant(known=known, episode=episode, handoff=HandoffId(made))


def test_no_answer_has_anything_of_what_was_forgotten(meant: Meant) -> None:
    meant.indexer(HashingEmbedder("first")).work()
    for told in (meant.near(), meant.packets("first"), meant.profiles(), [meant.handed()]):
        assert MARKER in "".join(told), "there is something to forget"

    meant.known.away(PERSON)

    assert MARKER not in meant.answers() + meant.handed()
    again = HashingEmbedder("first")
    indexer = meant.indexer(again)
    indexer.work()
    assert indexer.standing(SCOPE).to_index == DONE
    assert MARKER not in meant.answers() + meant.handed()
    assert MARKER not in str(again.asked), "no embedder is handed any of it again"
    assert "rows" in meant.answers(), "others keep what is theirs"


def test_a_text_that_comes_back_has_no_vector_from_before(meant: Meant) -> None:
    meant.indexer(HashingEmbedder("first")).work()
    street = f"{MARKER} street"
    assert street in "".join(meant.near())
    meant.known.away(PERSON, blocks=False)

    meant.world.write(claim(PERSON, "name", f"{MARKER} Vera", "2020-01-01"))
    meant.world.write(claim(PERSON, "lives_in", street, "2020-01-01"))
    indexer = meant.indexer(HashingEmbedder("first"))
    indexer.write(SCOPE)

    assert MARKER not in "".join(meant.near())
    assert indexer.standing(SCOPE).to_index.texts == 2


def forget_person(meant: Meant) -> None:
    meant.known.away(PERSON, blocks=False)


def forget_words(meant: Meant) -> None:
    meant.known.away(episode=meant.episode)
    meant.known.away(PERSON, blocks=False)


def forget_source(meant: Meant) -> None:
    meant.known.away(source="tester", blocks=False)


FORGETTING: Final = {"a person": forget_person, "an episode": forget_words, "a source": forget_source}


@pytest.mark.parametrize("what", FORGETTING)
def test_a_batch_that_was_read_before_leaves_no_vector_of_it(meant: Meant, what: str) -> None:
    embedder = Meanwhile("first", lambda: FORGETTING[what](meant))
    indexer = meant.indexer(embedder)

    indexer.work()

    assert embedder.happened
    assert indexer.standing(SCOPE).to_index == DONE
    assert MARKER not in meant.answers()
    come_back(meant)


@pytest.mark.parametrize("what", FORGETTING)
def test_a_model_that_is_made_meanwhile_has_no_vector_of_it(meant: Meant, what: str) -> None:
    meant.indexer(HashingEmbedder("first")).work()
    embedder = Meanwhile("second", lambda: FORGETTING[what](meant))

    meant.reembed(embedder)

    assert embedder.happened
    with meant.world.store.read(SCOPE) as reader:
        models = reader.models()
        assert models.serving is not None
        assert (models.serving.name, models.target) == ("second", None)
        assert reader.to_index("second") == DONE
    assert MARKER not in meant.answers("second")
    assert "".join(meant.near("first")) == ""
    come_back(meant, "second")


def come_back(meant: Meant, model: str = "first") -> None:
    """The same texts, told again, are without vectors: those that were made before were not kept."""
    again: Any = meant.world.writer.write(
        SCOPE, "somebody", [claim(PERSON, "name", f"{MARKER} Vera"), claim(PERSON, "lives_in", f"{MARKER} street")]
    ).receipt  # fmt: skip
    assert [item["state"] for item in again["items"]] == ["accepted"] * 2, again
    meant.world.clock.advance(SECOND)
    meant.indexer(HashingEmbedder(model)).write(SCOPE)
    assert MARKER not in "".join(meant.near(model))
    with meant.world.store.read(SCOPE) as reader:
        assert sum(MARKER in text for _, text in reader.unembedded(model, limit=MANY)) == 2


def test_an_episode_that_is_forgotten_while_it_is_cut_gets_no_chunks(meant: Meant) -> None:
    """What is cut was read before; the words may be gone when the chunks are written."""
    with meant.world.store.read(SCOPE) as reader:
        assert meant.episode in reader.uncut(limit=MANY)
    store = meant.world.store

    class Between:
        """The store, where an episode is forgotten between the read and the write of a step."""

        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

        def write(self, scope: Any) -> Any:
            if not self.done:
                self.done = True
                meant.known.away(episode=meant.episode)
            return store.write(scope)

        done = False

    between: Any = Between()
    indexer = Indexer(store=between, clock=meant.world.clock, core=CORE, embedder=None)
    indexer._cut(SCOPE)
    assert between.done
    with store.read(SCOPE) as reader:
        assert not any(MARKER in hit.text for hit in reader.match_chunks([MARKER, "moved"], FAR, limit=MANY))
        assert reader.uncut(limit=MANY) == []
