"""The journal gives back what it was given, forgets what it must, and notices what was altered."""

import dataclasses
import hashlib
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.journal import NO_DIGEST, commit, decode, restate, verify_chain, without
from graph.journal_sections import Section
from graph.ports import Head
from ontology.claims import Claim, Entity, Episode, Lifecycle, Source, Transition, Trust
from ontology.entries import End, Entry, Start, Stated
from ontology.errors import JSON, Fault
from ontology.events import ChangeSet, Commit, Erasure, Event, Kind, Operation, Payload, Restated, Shown, SlotHead
from ontology.facts import FactVersion, Slot, Support, Version
from ontology.ids import ClaimId, EntityId, EpisodeId, FactId, Ledger
from ontology.instants import OPEN_END, OPEN_START, Instant, Semantics
from ontology.packs import load_core
from ontology.scope import Tenant, scope_of
from ontology.values import Value, ValueKey, ValueType, value_key

SCOPE = scope_of("acme")
NOW = Instant(1_780_000_000_000_000)
CORE = load_core()
ANNA, BEN = EntityId("ent_abcdefgh_1_0"), EntityId("ent_abcdefgh_1_1")


def plain(thing: object) -> object:
    """A thing by its fields, entries too, which are otherwise equal only to themselves."""
    if dataclasses.is_dataclass(thing):
        return type(thing).__name__, [plain(getattr(thing, field.name)) for field in dataclasses.fields(thing)]
    if isinstance(thing, tuple | list):
        return [plain(each) for each in thing]
    if isinstance(thing, Mapping):
        return {key: plain(each) for key, each in thing.items()}
    return thing


def salting() -> Callable[[], bytes]:
    numbers = count()
    return lambda: hashlib.sha256(str(next(numbers)).encode()).digest()


def head_at(position: int, digest: bytes = NO_DIGEST) -> Head:
    return Head(
        ledger=Ledger("abcdefgh"), position=position, recorded_at=NOW, digest=digest, erasures=0, schema_version=0
    )


def empty(position: int = 1, kind: Kind = Kind.WRITE) -> ChangeSet:
    return ChangeSet(
        position=position, recorded_at=NOW, kind=kind, principal="me", operations=(), schema=None, erasures=(),
        entities=(), episodes=(), verbatims=(), claims=(), quotes=(), transitions=(), closed=(), opened=(), hidden=(),
        shown=(), support=(), slots=(),
    )  # fmt: skip


def text(words: str) -> Value:
    return Value(type=ValueType.TEXT, text=words, qualifier="")


# --- any change set

micros = st.integers(-(2**62), 2**62).map(Instant)
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
subjects = st.sampled_from([EntityId(f"ent_abcdefgh_1_{n}") for n in range(4)])
values = st.builds(Value, type=st.sampled_from(ValueType), text=words, qualifier=st.sampled_from(["", "EUR", "de"]))
valued = values.map(lambda value: (value_key(value), value))
keys = st.binary(min_size=16, max_size=16).map(ValueKey)
scopes = st.sampled_from([SCOPE, scope_of("acme", "team"), scope_of("acme", "default", "billing")])
slots = st.builds(
    Slot, scope=scopes, subject=subjects, predicate=st.sampled_from(["name", "lives_in", "ü"]),
    language=st.sampled_from(["", "de"]),
)  # fmt: skip
claim_ids = st.sampled_from([ClaimId(f"clm_abcdefgh_1_{n}") for n in range(9)])
positions = st.integers(1, 2**40)
json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(-1e9, 1e9) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
stateds = st.builds(
    Stated, valid_from=st.none() | words, valid_to=st.none() | words, zone=st.none() | words,
    semantics=st.none() | st.sampled_from(Semantics),
)  # fmt: skip


@st.composite
def claims(draw: st.DrawFn) -> Claim:
    key, value = draw(st.tuples(st.none(), st.none()) | valued)
    entry = Entry(
        position=draw(positions), ordinal=draw(positions), observed_at=draw(micros), asserts=draw(st.booleans()),
        value=key, functional=draw(st.booleans()), start=draw(st.sampled_from(Start)), start_lo=draw(micros),
        start_hi=draw(micros), end=draw(st.sampled_from(End)), end_lo=draw(micros), end_hi=draw(micros),
    )  # fmt: skip
    return Claim(
        id=draw(claim_ids), slot=draw(slots), entry=entry, value=value, stated=draw(stateds),
        observed_stated=draw(st.booleans()), source=Source(draw(words)), episode=draw(st.none() | words.map(EpisodeId)),
        root=draw(words), confidence=draw(st.floats(0, 1)), schema_version=draw(positions), principal=draw(words),
        recorded_at=draw(micros), trust=draw(st.sampled_from(Trust)), echo=draw(st.booleans()),
        expires_at=draw(micros | st.just(OPEN_END)),
    )  # fmt: skip


@st.composite
def versions(draw: st.DrawFn) -> FactVersion:
    key, value = draw(valued)
    return FactVersion(
        id=FactId(draw(words)), position=draw(positions), ordinal=draw(positions), slot=draw(slots), value=value,
        value_key=key, certain=draw(st.booleans()), valid_from=draw(micros), valid_to=draw(micros),
        recorded_from=draw(micros), recorded_to=draw(micros),
    )  # fmt: skip


shows = st.builds(Shown, claim=claim_ids, slot=slots, value_key=keys, valid_from=micros, valid_to=micros)
endings = st.builds(
    Transition, claim=claim_ids, state=st.sampled_from(Lifecycle), rule=words, reason=words, actor=words,
    position=positions, recorded_at=micros, decided_on=st.none() | positions, successor=st.none() | claim_ids,
)  # fmt: skip


def several(items: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(items, max_size=4).map(tuple)


changesets = st.builds(
    ChangeSet,
    position=positions,
    recorded_at=micros,
    kind=st.sampled_from(Kind),
    principal=words,
    operations=several(
        st.builds(Operation, op=words, subject=subjects, ordinal=positions, detail=st.dictionaries(words, json))
    ),
    schema=st.none() | st.just(CORE),
    erasures=several(st.builds(
            Erasure, scope=scopes, subject=subjects, predicate=st.none() | words, value_key=st.none() | keys
        )),
    entities=several(st.builds(Entity, id=subjects, namespace=words, key=st.none() | words)),
    episodes=several(st.builds(Episode, id=words, source=words, observed_at=st.none() | micros, root=words)),
    claims=several(claims()),
    quotes=st.just(()),  # each belongs to a claim of its change set; tests of episodes tell them
    transitions=several(endings),
    closed=several(versions()),
    opened=several(versions()),
    hidden=several(shows),
    shown=several(shows),
    support=several(
        st.builds(
            Support, slot=slots, value_key=keys, recorded_from=micros, sources=positions, occurrences=positions,
            doubt=st.floats(0, 1),
        )
    ),
    slots=several(
        st.builds(
            SlotHead, slot=slots, version=positions, last=st.none() | st.tuples(micros, positions, positions),
            functional=st.booleans(), plain=st.booleans(), trust=st.sampled_from(Trust), rejected=st.booleans(),
        )
    ),
)  # fmt: skip


@given(changes=changesets, owner=subjects)
def test_decoding_gives_back_every_field(changes: ChangeSet, owner: EntityId) -> None:
    owners = {ending.claim: owner for ending in changes.transitions}

    made = commit(changes, head_at(changes.position - 1), salts=salting(), owners=owners)

    assert plain(decode(made.event, reversed(made.payloads))) == plain(changes)
    assert [each.subject for each in made.payloads] == [subject for subject, _ in made.event.digests]
    assert len({each.subject for each in made.payloads}) == len(made.payloads)


@given(changes=changesets)
@settings(max_examples=30)
def test_equal_change_sets_and_salts_give_equal_bytes(changes: ChangeSet) -> None:
    owners = {ending.claim: ANNA for ending in changes.transitions}
    first = commit(changes, head_at(changes.position - 1), salts=salting(), owners=owners)

    twin = decode(first.event, first.payloads)
    again = commit(twin, head_at(changes.position - 1), salts=salting(), owners=owners)

    assert (again.event, again.payloads) == (first.event, first.payloads)


@given(changes=changesets)
@settings(max_examples=30)
def test_a_destroyed_payload_takes_only_its_subject_along(changes: ChangeSet) -> None:
    changes = dataclasses.replace(changes, transitions=())
    made = commit(changes, head_at(changes.position - 1), salts=salting())

    left = decode(made.event, [each for each in made.payloads if each.subject != ANNA])

    assert plain(left.claims) == plain([each for each in changes.claims if each.slot.subject != ANNA])
    assert left.opened == tuple(each for each in changes.opened if each.slot.subject != ANNA)
    assert left.entities == tuple(each for each in changes.entities if each.id != ANNA)
    assert left.schema == changes.schema


def test_a_change_set_can_be_read_into_another_tenant() -> None:
    made = commit(write(1, ANNA, "name", "Anna"), head_at(0), salts=salting())

    moved = decode(made.event, made.payloads, tenant=Tenant("other"))

    assert {claim.slot.scope for claim in moved.claims} == {scope_of("other")}


def test_a_commit_that_does_not_follow_the_head_is_a_fault() -> None:
    with pytest.raises(Fault, match="position 3 cannot follow position 1"):
        commit(empty(3), head_at(1), salts=salting())


def test_an_ending_without_a_subject_is_a_fault() -> None:
    ending = Transition(
        claim=ClaimId("clm_abcdefgh_1_0"), state=Lifecycle.WITHDRAWN, reason="", position=2, recorded_at=NOW,
        rule="withdraw", actor="me", decided_on=None, successor=None,
    )  # fmt: skip
    changes = dataclasses.replace(empty(2), transitions=(ending,))

    with pytest.raises(Fault, match="clm_abcdefgh_1_0"):
        commit(changes, head_at(1), salts=salting())

    one_slot = dataclasses.replace(changes, slots=write(2, ANNA, "name", "A").slots)
    assert decode(*unpack(commit(one_slot, head_at(1), salts=salting()))).transitions == (ending,)


def test_a_body_that_is_not_ours_is_a_fault() -> None:
    made = commit(write(1, ANNA, "name", "Anna"), head_at(0), salts=salting())

    for body in (b"{}", b"[1,2", b"[9]"):
        with pytest.raises(Fault, match="position 1"):
            decode(made.event, [dataclasses.replace(made.payloads[0], body=body)])


# --- what erasures leave


def write(position: int, subject: EntityId, predicate: str, words: str, *more: str) -> ChangeSet:
    """A commit that says some texts of one slot, with everything that comes of it."""
    slot = Slot(scope=SCOPE, subject=subject, predicate=predicate, language="")
    said = [(text(each), value_key(text(each)), ordinal) for ordinal, each in enumerate((words, *more))]
    return dataclasses.replace(
        empty(position),
        claims=tuple(claim_of(slot, position, ordinal, value) for value, _, ordinal in said),
        opened=tuple(
            FactVersion(
                id=FactId(f"fct_abcdefgh_{position}_{ordinal}"), position=position, ordinal=ordinal, slot=slot,
                value=value, value_key=key, certain=True, valid_from=NOW, valid_to=OPEN_END, recorded_from=NOW,
                recorded_to=OPEN_END,
            )
            for value, key, ordinal in said
        ),
        shown=tuple(
            Shown(
                claim=ClaimId(f"clm_abcdefgh_{position}_{ordinal}"), slot=slot, value_key=key, valid_from=NOW,
                valid_to=OPEN_END,
            )
            for _, key, ordinal in said
        ),
        support=tuple(
            Support(slot=slot, value_key=key, recorded_from=NOW, sources=1, occurrences=1, doubt=0.5)
            for _, key, _ in said
        ),
        slots=(
            SlotHead(
                slot=slot, version=Version(position), last=(NOW, position, 0), functional=False, plain=True,
                trust=Trust.OBSERVED, rejected=False,
            ),
        ),
    )  # fmt: skip


def claim_of(slot: Slot, position: int, ordinal: int, value: Value | None) -> Claim:
    entry = Entry(
        position=position, ordinal=ordinal, observed_at=NOW, asserts=value is not None,
        value=None if value is None else value_key(value), functional=False, start=Start.KNOWN, start_lo=NOW,
        start_hi=NOW, end=End.OPEN, end_lo=OPEN_END, end_hi=OPEN_END,
    )  # fmt: skip
    return Claim(
        id=ClaimId(f"clm_abcdefgh_{position}_{ordinal}"), slot=slot, entry=entry, value=value,
        stated=Stated(valid_from=None, valid_to=None, zone=None, semantics=None), observed_stated=False,
        source=Source("me"), episode=None, root="me", confidence=0.5, schema_version=1, principal="me", recorded_at=NOW,
        trust=Trust.OBSERVED, echo=False, expires_at=OPEN_END,
    )  # fmt: skip


def joined(*parts: ChangeSet) -> ChangeSet:
    """All that some change sets hold, as one."""
    lists: dict[str, Any] = {
        field.name: tuple(each for part in parts for each in getattr(part, field.name))
        for field in dataclasses.fields(ChangeSet)
        if isinstance(getattr(parts[0], field.name), tuple)
    }
    return dataclasses.replace(parts[0], **lists)


def unpack(made: Commit) -> tuple[Event, tuple[Payload, ...]]:
    return made.event, made.payloads


def erased(changes: ChangeSet, erasure: Erasure, *claims: ClaimId) -> tuple[ChangeSet, bytes]:
    """What one erasure leaves of a commit, and the bytes in which it is kept."""
    made = commit(changes, head_at(changes.position - 1), salts=salting())
    left = [without(each, [erasure], claims, salt=b"s" * 32) or each for each in made.payloads]
    return decode(made.event, left), b"".join(each.body for each in left)


def test_an_erased_subject_leaves_its_entity_in_its_payload_and_others_alone() -> None:
    entity = Entity(id=ANNA, namespace=SCOPE.namespace, key="anna")
    about_anna = dataclasses.replace(
        write(1, ANNA, "name", "Anna Secret"),
        entities=(entity,),
        operations=(Operation(op="withdraw", subject=ANNA, ordinal=4, detail={"reason": "Secret"}),),
    )
    about_ben = write(1, BEN, "name", "Ben")

    whole = Erasure(scope=SCOPE, subject=ANNA, predicate=None, value_key=None)

    left, kept = erased(joined(about_anna, about_ben), whole)

    assert plain(left) == plain(dataclasses.replace(about_ben, entities=(entity,)))
    for trace in (b"Secret", value_key(text("Anna Secret")).hex().encode()):
        assert trace not in kept


def test_an_erased_value_leaves_the_rest_of_its_slot() -> None:
    both = write(1, ANNA, "email", "old@a", "new@a")
    erasure = Erasure(scope=SCOPE, subject=ANNA, predicate="email", value_key=value_key(text("old@a")))

    left, kept = erased(both, erasure, both.claims[0].id)

    assert [claim.value for claim in left.claims] == [text("new@a")]
    assert [version.value for version in left.opened] == [text("new@a")]
    assert (left.shown, left.support, left.slots) == (both.shown[1:], both.support[1:], both.slots)
    assert b"old@a" not in kept
    assert value_key(text("old@a")).hex().encode() not in kept


def test_an_erased_predicate_takes_its_slots_endings_and_operations() -> None:
    ending = Transition(
        claim=ClaimId("clm_abcdefgh_1_7"), state=Lifecycle.WITHDRAWN, reason="Secret", position=2, recorded_at=NOW,
        rule="withdraw", actor="me", decided_on=None, successor=None,
    )  # fmt: skip
    other = dataclasses.replace(ending, claim=ClaimId("clm_abcdefgh_1_8"), reason="mistaken")
    changes = dataclasses.replace(
        joined(write(2, ANNA, "email", "a@b"), write(2, ANNA, "name", "Anna")),
        transitions=(ending, other),
        operations=(
            Operation(op="withdraw", subject=ANNA, ordinal=1, detail={"claim": "clm_abcdefgh_1_7"}),
            Operation(op="withdraw", subject=ANNA, ordinal=2, detail={"claim": "clm_abcdefgh_1_8"}),
            Operation(op="erase", subject=ANNA, ordinal=3, detail={"predicate": "name"}),
            Operation(op="replace", subject=ANNA, ordinal=4, detail={"reason": "who knows"}),
        ),
    )

    left, _ = erased(changes, Erasure(scope=SCOPE, subject=ANNA, predicate="email", value_key=None), ending.claim)

    assert left.transitions == (other,)
    assert [operation.ordinal for operation in left.operations] == [2, 3]
    assert [head.slot.predicate for head in left.slots] == ["name"]
    assert [claim.slot.predicate for claim in left.claims] == ["name"]


def test_a_retraction_of_every_value_goes_only_with_its_slot() -> None:
    slot = Slot(scope=SCOPE, subject=ANNA, predicate="email", language="")
    changes = dataclasses.replace(empty(), claims=(claim_of(slot, 1, 0, None),))

    kept, _ = erased(changes, Erasure(scope=SCOPE, subject=ANNA, predicate="email", value_key=value_key(text("a@b"))))
    gone, _ = erased(changes, Erasure(scope=SCOPE, subject=ANNA, predicate="email", value_key=None))

    assert len(kept.claims) == 1
    assert gone.claims == ()


def test_an_earlier_erasure_of_a_value_does_not_outlive_that_of_its_subject() -> None:
    key = value_key(text("a@b"))
    earlier = (Erasure(scope=SCOPE, subject=ANNA, predicate="email", value_key=key),)
    whole = Erasure(scope=SCOPE, subject=ANNA, predicate=None, value_key=None)

    left, kept = erased(dataclasses.replace(empty(kind=Kind.ERASE), erasures=earlier), whole)

    assert left.erasures == (whole,)
    assert key.hex().encode() not in kept


def test_an_untouched_payload_is_not_restated() -> None:
    made = commit(joined(write(1, ANNA, "name", "Anna"), write(1, BEN, "name", "Ben")), head_at(0), salts=salting())
    anna, ben = made.payloads
    erasure = Erasure(scope=SCOPE, subject=ANNA, predicate="email", value_key=None)

    assert without(anna, [erasure], (), salt=b"s" * 32) is None
    assert without(ben, [dataclasses.replace(erasure, predicate=None)], (), salt=b"s" * 32) is None


def test_restating_finds_the_endings_of_what_it_erases_in_later_payloads() -> None:
    said = write(1, ANNA, "email", "a@b", "c@d")
    endings = tuple(
        Transition(
            claim=claim.id, state=Lifecycle.WITHDRAWN, reason=claim.id, position=2, recorded_at=NOW, successor=None,
            rule="withdraw", actor="me", decided_on=None,
        )
        for claim in said.claims
    )  # fmt: skip
    payloads = [
        (changes.position, payload)
        for changes in (said, dataclasses.replace(empty(2), transitions=endings, slots=said.slots))
        for payload in commit(changes, head_at(changes.position - 1), salts=salting()).payloads
    ]
    erasure = Erasure(scope=SCOPE, subject=ANNA, predicate="email", value_key=value_key(text("a@b")))

    left = restate(payloads, [erasure], salts=salting())

    assert [each.position for each in left] == [1, 2]
    assert said.claims[0].id.encode() not in left[1].payload.body
    assert said.claims[1].id.encode() in left[1].payload.body
    assert len({each.payload.salt for each in left}) == 2
    for each in left:
        assert each.payload.digest == hashlib.sha256(each.payload.salt + each.payload.body).digest()


def test_restating_takes_nothing_from_another_scope() -> None:
    billing = scope_of("acme", purpose="billing")
    here, there = write(1, ANNA, "email", "a@b"), write(1, ANNA, "email", "c@d")
    moved = dataclasses.replace(there.claims[0], slot=dataclasses.replace(there.claims[0].slot, scope=billing))
    made = commit(joined(here, dataclasses.replace(empty(), claims=(moved,))), head_at(0), salts=salting())
    erasure = Erasure(scope=SCOPE, subject=ANNA, predicate="email", value_key=None)
    elsewhere = dataclasses.replace(erasure, scope=scope_of("acme", "x"))

    (left,) = restate([(1, each) for each in made.payloads], [erasure], salts=salting())

    assert plain(decode(made.event, [left.payload]).claims) == plain((moved,))
    assert restate([(1, each) for each in made.payloads], [elsewhere], salts=salting()) == []


def test_what_another_scope_was_asked_about_a_subject_outlives_its_erasure() -> None:
    billing = scope_of("acme", purpose="billing")
    email = Erasure(scope=billing, subject=ANNA, predicate="email", value_key=None)
    changes = dataclasses.replace(
        empty(kind=Kind.ERASE),
        erasures=(email,),
        operations=(Operation(op="erase", subject=ANNA, ordinal=0, detail={"predicate": "email", "value": None}),),
    )
    whole = Erasure(scope=SCOPE, subject=ANNA, predicate=None, value_key=None)

    kept, _ = erased(changes, whole)
    gone, _ = erased(changes, dataclasses.replace(whole, scope=billing))

    assert (kept.erasures, kept.operations) == (changes.erasures, changes.operations)
    assert (gone.erasures, gone.operations) == ((dataclasses.replace(whole, scope=billing),), ())


def test_a_correction_goes_with_the_value_that_it_replaced() -> None:
    old, new = value_key(text("a@b")), ClaimId("clm_abcdefgh_1_1")
    detail: dict[str, JSON] = {"old": old.hex(), "claim": new, "withdrawn": ["clm_abcdefgh_1_0"], "reason": "was a@b"}
    correction = Operation(op="replace", subject=ANNA, ordinal=0, detail=detail)
    changes = dataclasses.replace(write(2, ANNA, "email", "x"), operations=(correction,))

    for claims in ((), (ClaimId("clm_abcdefgh_1_0"),)):
        left, kept = erased(changes, Erasure(scope=SCOPE, subject=ANNA, predicate="email", value_key=old), *claims)
        assert left.operations == ()
        assert b"was a@b" not in kept


@given(changes=changesets, pick=st.randoms(use_true_random=False))
def test_erasing_is_taking_out_what_it_names(changes: ChangeSet, pick: Any) -> None:
    changes = dataclasses.replace(changes, transitions=(), operations=(), erasures=(), schema=None)
    values_there = [(v.slot.predicate, v.value_key) for v in (*changes.opened, *changes.closed)]
    values_there = values_there or [("name", ValueKey(bytes(16)))]
    predicate, key = pick.choice([*values_there, (values_there[0][0], None), (None, None)])
    scope = pick.choice([SCOPE, *(version.slot.scope for version in (*changes.opened, *changes.closed))])
    erasure = Erasure(scope=scope, subject=ANNA, predicate=predicate, value_key=key)

    def stays(slot: Slot, value: ValueKey | None) -> bool:
        if (slot.scope, slot.subject) != (scope, ANNA):
            return True
        return predicate not in (None, slot.predicate) or key not in (None, value)

    left, _ = erased(changes, erasure)

    assert plain(left.claims) == plain([c for c in changes.claims if stays(c.slot, c.entry.value)])
    for field in ("closed", "opened", "hidden", "shown", "support"):
        assert getattr(left, field) == tuple(row for row in getattr(changes, field) if stays(row.slot, row.value_key))
    assert left.slots == tuple(head for head in changes.slots if key is not None or stays(head.slot, None))
    assert left.entities == changes.entities


# --- the chain


def chain() -> list[tuple[Event, tuple[Payload, ...]]]:
    """Three commits, of which the last erases what the first said of Anna."""
    salts = salting()
    first = commit(joined(write(1, ANNA, "name", "Anna"), write(1, BEN, "name", "Ben")), head_at(0), salts=salts)
    second = commit(write(2, BEN, "name", "Benno"), head_at(1, first.event.digest), salts=salts)
    erasure = Erasure(scope=SCOPE, subject=ANNA, predicate=None, value_key=None)
    rest = without(first.payloads[0], [erasure], (), salt=salts())
    assert rest is not None
    third = commit(
        dataclasses.replace(empty(3, Kind.ERASE), erasures=(erasure,)),
        head_at(2, second.event.digest),
        salts=salts,
        restated=[Restated(position=1, payload=rest)],
    )
    return [(first.event, (rest, first.payloads[1])), unpack(second), unpack(third)]


def test_an_untouched_chain_has_no_problems() -> None:
    assert verify_chain(chain(), complete=True) == []


def tampered() -> Iterator[tuple[str, list[tuple[Event, tuple[Payload, ...]]]]]:
    (first, (rest, ben)), (second, (benno,)), third = chain()
    original = commit(joined(write(1, ANNA, "name", "Anna"), write(1, BEN, "name", "Ben")), head_at(0), salts=salting())
    assert original.payloads[0].digest == first.digests[0][1]
    yield "gap", [(first, (rest, ben)), third]
    yield "not chained", [(first, (rest, ben)), (dataclasses.replace(second, previous=NO_DIGEST), (benno,)), third]
    yield (
        "not what its digest covers",
        [(dataclasses.replace(first, principal="x"), (rest, ben)), (second, (benno,)), third],
    )
    yield "own digest", [(first, (rest, dataclasses.replace(ben, body=b"[]"))), (second, (benno,)), third]
    forged = Payload(subject=BEN, salt=b"", body=b"[]", digest=hashlib.sha256(b"[]").digest())
    yield "the digest that the event gives", [(first, (rest, forged)), (second, (benno,)), third]
    yield "still there", [(first, (original.payloads[0], ben)), (second, (benno,)), third]
    yield "newest event to restate", [
        (first, (dataclasses.replace(forged, subject=ANNA), ben)), (second, (benno,)), third
    ]  # fmt: skip
    yield "not in the event", [(first, (rest, ben)), (second, (benno, dataclasses.replace(rest))), third]
    yield "missing", [(first, (rest,)), (second, (benno,)), third]


@pytest.mark.parametrize(
    ("problem", "events"), list(tampered()), ids=lambda part: part if isinstance(part, str) else ""
)
def test_tampering_is_found(problem: str, events: list[tuple[Event, tuple[Payload, ...]]]) -> None:
    assert any(problem in found for found in verify_chain(events, complete=True))


def test_a_destroyed_payload_alone_is_no_problem_of_the_chain() -> None:
    (first, (rest, _)), *others = chain()

    assert verify_chain([(first, (rest,)), *others]) == []
    assert verify_chain([(first, ()), *others], complete=True) == [
        f"the payload about {BEN} at position 1 is missing and no event destroyed it"
    ]


def test_open_ends_survive() -> None:
    slot = Slot(scope=SCOPE, subject=ANNA, predicate="name", language="")
    shown = Shown(
        claim=ClaimId("c"), slot=slot, value_key=value_key(text("A")), valid_from=OPEN_START, valid_to=OPEN_END
    )
    made = commit(dataclasses.replace(empty(), shown=(shown,)), head_at(0), salts=salting())

    assert decode(*unpack(made)).shown == (shown,)


def test_a_payload_of_the_first_format_is_read_with_what_was_true_of_all_then() -> None:
    slot = Slot(scope=SCOPE, subject=ANNA, predicate="email", language="")
    claim = claim_of(slot, 2, 0, text("anna@example.org"))
    ending = Transition(
        claim=claim.id, state=Lifecycle.WITHDRAWN, rule="withdraw", reason="wrong", actor="me", position=2,
        recorded_at=NOW, decided_on=None, successor=None,
    )  # fmt: skip
    head = SlotHead(
        slot=slot, version=Version(2), last=None, functional=False, plain=True, trust=Trust.OBSERVED, rejected=False
    )  # fmt: skip
    changes = dataclasses.replace(empty(2), claims=(claim,), transitions=(ending,), slots=(head,))
    event, payloads = unpack(commit(changes, head_at(1), salts=salting()))
    (payload,) = payloads
    body = orjson.loads(payload.body)
    body[0] = 1
    for section, fields in ((Section.CLAIMS, 26), (Section.TRANSITIONS, 6), (Section.SLOTS, 5)):
        body[3][section] = [row[:fields] for row in body[3][section]]
    old = dataclasses.replace(payload, body=orjson.dumps(body))
    assert plain(decode(event, [old])) == plain(changes)
    with pytest.raises(Fault, match="cannot be read"):
        decode(event, [dataclasses.replace(payload, body=orjson.dumps([99, *body[1:]]))])
