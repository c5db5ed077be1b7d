"""What can be wrong with the rule of belief: small changes of the kernel, each of which some test must notice."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A text of a module of `ontology` that occurs exactly once, and what stands there instead."""

    name: str
    module: str
    old: str
    new: str


def _of(module: str, *changes: tuple[str, str, str]) -> list[Mutant]:
    return [Mutant(name=name, module=module, old=old, new=new) for name, old, new in changes]


MUTANTS: Final = [
    *_of(
        "fold",
        (
            "a retraction that leaves claims standing",
            "stand = [claim for claim in stand if not cuts_start(entry, claim)]",
            "pass",
        ),
        (
            "a retraction that fells claims of other values",
            "return hole.value in (None, claim.value) and hole.start_hi",
            "return hole.start_hi",
        ),
        (
            "a coarse retraction that fells claims on its edges",
            "hole.start_hi <= claim.start_hi < hole.end_lo",
            "hole.start_lo <= claim.start_hi < hole.end_hi",
        ),
        (
            "coarse edges of a retraction taken for certain",
            "if hole.start_hi <= instant < hole.end_lo:",
            "if hole.start_lo <= instant < hole.end_hi:",
        ),
        (
            "coarse edges of a retraction that leave what they touch certain",
            "                    cell[value] = Held(False, cell[value].seen)\n\n\ndef _rival",
            "                    pass\n\n\ndef _rival",
        ),
        (
            "a value that comes back taken for a start",
            "if claim.start_hi > after_start and certain and (same or claim.start_lo > after_start):",
            "if certain and (not same or claim.start_hi > after_start):",
        ),
        (
            "possible rivals kept under a certain value",
            "            cell.clear()",
            "            for rival in [v for v in cell if cell[v].certain]:\n                del cell[rival]",
        ),
        (
            "a certain value that clears others where many may hold",
            "if sure and entry.functional:",
            "if sure:",
        ),
        (
            "a certain rival that stays certain beside a possible value",
            "            cell[rival] = Held(False, rival_held.seen)",
            "            pass",
        ),
        (
            "a certain value made possible by a vague repetition",
            "    if sure or (held and held.certain):",
            "    if sure:",
        ),
        (
            "an unknown end without its cap",
            "end_hi = min(end_hi, _next_rival(line, entry, end_lo, end_hi))",
            "pass",
        ),
        (
            "an unknown end that is certain until it was said",
            "            end_lo = _first_seen(entry)\n",
            "            end_lo = end_hi\n",
        ),
        (
            "multi-valued starts mixed",
            "    if entry.functional:\n        return cell.items()",
            "    if True:\n        return cell.items()",
        ),
        (
            "values that compete folded apart",
            "    return any(entry.functional and entry.asserts for entry in entries)",
            "    return False",
        ),
        (
            "a retraction of every value that a value by itself does not hear",
            "                part.append(entry)",
            "                pass",
        ),
        (
            "an open end that ignores witnesses",
            "                    _witness(line, entry, start_lo, end_hi)\n",
            "",
        ),
        (
            "a stated end that leaves open claims",
            "if entry.end in (End.KNOWN, End.UNKNOWN):",
            "if entry.end is End.UNKNOWN:",
        ),
        (
            "an unknown end that leaves open claims",
            "if entry.end in (End.KNOWN, End.UNKNOWN):",
            "if entry.end is End.KNOWN:",
        ),
        (
            "a stated end that ends a claim that begins later",
            "begins = [e.start_lo for e in others if e.start_hi >= end_hi]",
            "begins: list[Instant] = []",
        ),
        (
            "a stated end that ends claims with an end of their own",
            "        if any(_ends_itself(other, entry) for other in others):\n            break\n",
            "",
        ),
        (
            "a coarse stated end that is over at its earliest instant",
            "        if instant < end_hi:\n            cell[value] = Held(False, cell[value].seen)",
            "        if False:\n            cell[value] = Held(False, cell[value].seen)",
        ),
        (
            "a coarse stated end that reaches back before its own start",
            "start = max(end_lo, entry.start_lo) if entry.dated else end_lo",
            "start = end_lo",
        ),
        (
            "the same start restated keeps the first end",
            "    restates = (other.start_lo, other.start_hi) == (entry.start_lo, entry.start_hi)",
            "    restates = False",
        ),
        (
            "an end that is restated by any other start",
            "    restates = (other.start_lo, other.start_hi) == (entry.start_lo, entry.start_hi)",
            "    restates = True",
        ),
        (
            "an unknown end that forgets who saw it last",
            "max(_first_seen(e), e.observed_at)",
            "_first_seen(e)",
        ),
        (
            "an open start that makes the first microsecond certain",
            "return entry.start_hi if entry.start is Start.OPEN else Instant(entry.start_hi + 1)",
            "return Instant(entry.start_hi + 1)",
        ),
        (
            "an unknown end that believes those who stated an end",
            "if e is not entry and e.end is End.OPEN",
            "if e is not entry",
        ),
        (
            "an undated start that unseats a rival",
            "        start_lo = _after_last_rival(line, entry)",
            "        start_lo = OPEN_START",
        ),
        (
            "an undated start that unseats the rival at its stated end",
            "            end_lo = end_hi = start_hi  # a known rival just before the end stays: nothing is certain",
            "            pass",
        ),
        (
            "an undated start that stops at a possible rival",
            "any(held.certain for value, held in cell.items() if value != entry.value)",
            "any(value != entry.value for value in cell)",
        ),
        (
            "an unknown that is its own rival",
            "any(held.certain for value, held in cell.items() if value != entry.value)",
            "any(held.certain for held in cell.values())",
        ),
        (
            "a reinforcement that opens a new period",
            "if _certain(line.at(start_hi), value):",
            "if False:",
        ),
        (
            "a reinforcement that outlives what it repeats",
            "end_lo, end_hi = min(end_lo, believed_to), min(end_hi, believed_to)",
            "pass",
        ),
        (
            "an earlier start of a believed value that adds nothing",
            "if not entry.dated or value in line.at(start_lo):",
            "if True:",
        ),
        (
            "the certain part of a coarse end too long",
            "sure=start_hi <= instant < end_lo)",
            "sure=start_hi <= instant < end_hi)",
        ),
        (
            "the certain part of a coarse start too early",
            "sure=start_hi <= instant < end_lo)",
            "sure=start_lo <= instant < end_lo)",
        ),
        (
            "a coarse next start that is over at its earliest instant",
            "begins = max(start, claim.start_hi)",
            "begins = max(start, claim.start_lo)",
        ),
        (
            "a coarse next start that leaves everything before it certain",
            "                    end_lo = min(end_lo, begins) if begins < after else end_lo",
            "                    pass",
        ),
        (
            "a next start that must be of another value",
            "certain and (same or claim.start_lo > after_start):",
            "certain and (not same and claim.start_lo > after_start):",
        ),
        (
            "a correction that leaves what began earlier",
            "    for _, _, cell in line.cells_before(at):",
            "    for _, _, cell in list(line.cells_before(at))[:0]:",
        ),
        (
            "a fold in the order of arrival",
            "    for entry in sorted(entries, key=lambda e: e.order):\n        apply(line, entry)",
            "    for entry in entries:\n        apply(line, entry)",
        ),
    ),
    *_of(
        "entries",
        (
            "order by recorded only",
            "return self.observed_at, self.position, self.ordinal",
            "return self.position, self.position, self.ordinal",
        ),
        (
            "late said does not win ties",
            "return self.observed_at, self.position, self.ordinal",
            "return self.observed_at, -self.position, -self.ordinal",
        ),
        (
            "the order inside a transaction lost",
            "return self.observed_at, self.position, self.ordinal",
            "return self.observed_at, self.position, -self.ordinal",
        ),
        (
            "an unknown start that may lie after its end",
            "start_lo = start_hi = min(observed_at, before_end)",
            "start_lo = start_hi = observed_at",
        ),
        (
            "a whole granule that ends at its beginning",
            "earliest = granule.latest if stated.semantics is Semantics.WHOLE else granule.earliest",
            "earliest = granule.earliest",
        ),
        (
            "a whole granule that begins nobody knows when",
            "if whole else granule",
            "if whole and not granule else granule",
        ),
        (
            "an inverted period that is taken",
            "if end_hi <= start_lo:",
            "if end_hi == start_lo:",
        ),
        (
            "a replacement that forgets what it did not state",
            "valid_to=stated.valid_to if stated.valid_to is not None else end_from.valid_to",
            "valid_to=stated.valid_to",
        ),
    ),
    *_of(
        "line",
        (
            "a window that ends where the world ends",
            "        if self._cuts[-1] < end:\n            raise Beyond",
            "        pass",
        ),
        (
            "a window that begins where the world begins",
            "        if self._cuts[0] > OPEN_START:\n            raise Beyond",
            "        pass",
        ),
        (
            "writing past the edge of a window",
            "        if start < self._cuts[0] or end > self._cuts[-1]:\n            raise Beyond\n        self.cut",
            "        self.cut",
        ),
        (
            "a cut that splits nothing",
            "self._cells.insert(index + 1, self._cells[index].copy())",
            "self._cells.insert(index + 1, {})",
        ),
        (
            "a copy that shares what it copies",
            "twin._cells = [cell.copy() for cell in self._cells]",
            "twin._cells = list(self._cells)",
        ),
    ),
    *_of(
        "changes",
        (
            "a change that runs over the edge of the window",
            "            raise Beyond",
            "            pass",
        ),
        (
            "a change of support that is not told",
            "hidden=sorted(shows_before - shows_after, key=_order)",
            "hidden=[]",
        ),
    ),
]
