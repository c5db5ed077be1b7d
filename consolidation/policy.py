"""May a claim be believed at once? The rules that hold a claim, or turn it away, before it is folded. Pure.

A claim that is held is kept in its slot, at its place in the order, and changes no belief until it is promoted.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

from ontology.claims import Claim, Lifecycle, Told, Trust
from ontology.entries import Entry
from ontology.errors import LiveData, Violation, shown
from ontology.fold import apply, compete, fold
from ontology.line import Line
from ontology.schema import Evidence, Predicate, Volatility

UNTRUSTED: Final = "untrusted"
PROPOSED: Final = "proposed"
GUARDED: Final = "guarded"
SENSITIVE: Final = "sensitive"
PROMOTE_AFTER: Final = "promote-after"
ECHO: Final = "echo"
REJECTED_BEFORE: Final = "rejected-before"
FORGED_SOURCE: Final = "forged-source"


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """What policy says of whoever writes; grants decide it, never the request."""

    owns: bool
    """Whether the namespace is its own; what others say is a proposal to the owner."""
    trust: Trust
    """How far what it says is trusted where it does not say."""
    trust_max: Trust
    """The most that it may ask for."""


OWNER: Final = Authority(owns=True, trust=Trust.OBSERVED, trust_max=Trust.OBSERVED)
"""Of a writer of whom nothing else is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """That a claim waits, by which rule, and why."""

    state: Lifecycle
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnedAway:
    """That a claim is not even kept."""

    rule: str
    reason: str


Verdict: TypeAlias = Held | TurnedAway | None
"""`None` admits it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What admission looks at beside the claim."""

    owns: bool
    rejected: Told | None
    """A rejected claim of this value from this source in this slot."""
    unseats: Trust | None
    """The highest trust of what it would take certainty from; looked at only where the predicate is guarded."""
    independent: int
    """How many independent pieces of evidence there are with this one; looked at where the predicate counts them."""
    changes: bool
    """Whether it would change what is believed; looked at only of an echo."""
    doubt: Held | None
    """Why whoever read it, or looked at its source, would have it wait."""


def refuse_live(predicate: Predicate) -> None:
    """Raise `LiveData` for what is never stored: it names the tool that has it."""
    rules = predicate.governance
    if rules.volatility is Volatility.LIVE:
        detail = f"{shown(predicate.name)} is live data, which memory does not keep; ask {shown(rules.tool)}"
        violation = Violation(pointer="/predicate", code="live_data", detail=detail)
        raise LiveData(
            detail,
            remedy=f"ask the tool {shown(rules.tool)} when it is needed",
            violations=(violation,),
            members={"predicate": predicate.name, "tool": rules.tool},
        )


def judge(claim: Claim, predicate: Predicate, around: Circumstances) -> Verdict:
    """The first rule that keeps a claim from being folded, in the order in which they stand here."""
    rules, name = predicate.governance, shown(predicate.name)
    if around.rejected is not None:
        reason = f"the claim {around.rejected.claim.id} of this value from {shown(claim.source)} was rejected"
        return TurnedAway(rule=REJECTED_BEFORE, reason=reason)
    doubt = around.doubt
    if doubt is not None and doubt.state is Lifecycle.QUARANTINED:
        return doubt
    if claim.trust is Trust.UNTRUSTED:
        return _quarantined(UNTRUSTED, f"what {shown(claim.source)} says is not trusted")
    if not around.owns:
        return _quarantined(PROPOSED, f"{shown(claim.principal)} does not own the namespace and may only propose")
    if doubt is not None:
        return doubt
    if rules.guarded and around.unseats is not None and claim.trust < around.unseats:
        reason = f"{name} is guarded: what is {claim.trust.word} cannot unseat what is {around.unseats.word}"
        return _quarantined(GUARDED, reason)
    if claim.echo and around.changes:
        return _staged(ECHO, "it only repeats what memory itself had served, which is no reason to believe otherwise")
    if claim.trust >= Trust.CONFIRMED or not claim.entry.asserts:
        return None
    if rules.sensitive:
        return _staged(SENSITIVE, f"{name} is sensitive and needs a confirmation")
    if rules.promote_after is not None and around.independent < rules.promote_after:
        unit = rules.promote_by.value
        return _staged(PROMOTE_AFTER, f"{around.independent} of {rules.promote_after} {unit} that {name} asks for")
    return None


def independent(claims: Iterable[Claim], by: Evidence, session: Callable[[Claim], str | None]) -> int:
    """How many independent pieces of evidence claims of one value are; `session` is asked only where it counts.

    The same voice, in the same place, counts once: a root, an episode, a session, or all that names no session.
    """
    said = [claim for claim in claims if not claim.echo]
    match by:
        case Evidence.SOURCES:
            return len({claim.root for claim in said})
        case Evidence.OCCURRENCES:
            return len({claim.episode or claim.id for claim in said})
        case Evidence.SESSIONS:
            return len({session(claim) for claim in said})
        case _:
            assert_never(by)


def may_speak_for(source: str, principal: str, authority: Authority) -> bool:
    """Whether a principal may say something for a source that signs what it says, without its signature.

    It is that source itself, by its credentials, or an importer of what was verified elsewhere.
    """
    return source == principal or authority.trust_max >= Trust.VERIFIED


def forged(source: str, principal: str) -> Held:
    """The hold of what somebody says in the name of a source that signs what it says."""
    reason = f"{shown(source)} signs what it says, and {shown(principal)} says this in its name"
    return _quarantined(FORGED_SOURCE, reason)


def changes(standing: Sequence[Entry], new: Entry) -> bool:
    """Whether a new operation changes what is believed when, and how surely."""
    before, after = _with_and_without(standing, new)
    return before.runs() != after.runs()


def unseated(standing: Sequence[tuple[Entry, Trust]], new: Entry) -> Trust | None:
    """The highest trust of the operations that would lose certain ground to a new one; `None` where none would."""
    trust = dict(standing)
    before, after = _with_and_without([*trust], new)
    start, end = before.window
    cuts = sorted({cut for line in (before, after) for cut, _, _ in line.cells(start, end)})
    losing = [
        trust[entry]
        for cut in cuts
        for value, held in before.at(cut).items()
        if held.certain and not (value in after.at(cut) and after.at(cut)[value].certain)
        for entry in held.seen
    ]
    return max(losing, default=None)


def _with_and_without(standing: Sequence[Entry], new: Entry) -> tuple[Line, Line]:
    """The belief without a new operation, and with it; of its value alone where values do not compete."""
    entries = list(standing)
    if not compete([*entries, new]) and new.value is not None:
        entries = [entry for entry in entries if entry.value in (None, new.value)]
    before = fold(entries)
    if any(entry.order > new.order for entry in entries):
        return before, fold([*entries, new])
    after = before.copy()
    apply(after, new)
    return before, after


def _quarantined(rule: str, reason: str) -> Held:
    return Held(state=Lifecycle.QUARANTINED, rule=rule, reason=reason)


def _staged(rule: str, reason: str) -> Held:
    return Held(state=Lifecycle.STAGED, rule=rule, reason=reason)
