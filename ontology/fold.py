"""The rule of belief: the standing operations of a slot, in the order of rule 1, make its line. Pure.

Each function follows `02-time.md`, whose executable form is the reference model; the rule numbers are its.
One `apply` is one operation on what the operations before it made; a whole fold is `apply` over all of them.
"""

from collections.abc import Iterable, Sequence

from ontology.entries import End, Entry, Start
from ontology.instants import OPEN_END, OPEN_START, Instant
from ontology.line import Cell, Held, Line
from ontology.values import ValueKey


def fold(entries: Iterable[Entry]) -> Line:
    """The belief that `entries` make, in whatever order they are given."""
    line = Line()
    for entry in sorted(entries, key=lambda e: e.order):
        apply(line, entry)
    return line


def compete(entries: Iterable[Entry]) -> bool:
    """Whether the values that the operations assert compete for one place."""
    return any(entry.functional and entry.asserts for entry in entries)


def apart(entries: Sequence[Entry]) -> list[list[Entry]]:
    """The operations of each value by themselves, in their order, where values do not compete; else all together.

    A retraction of every value stands in each part. Cells hold every value that shows in them, so folding many
    values on one line costs the square of what folding them apart does.
    """
    if compete(entries):
        return [list(entries)]
    parts: dict[ValueKey | None, list[Entry]] = {entry.value: [] for entry in entries if entry.value is not None}
    for entry in entries:
        if entry.value is None:
            for part in parts.values():
                part.append(entry)
        else:
            parts[entry.value].append(entry)
    return list(parts.values())


def apply(line: Line, entry: Entry) -> None:
    """Write one operation onto the line of the operations before it.

    Raises `Beyond`, with the line in an undefined state, where the window is too narrow.
    """
    if not entry.asserts:
        _cut_hole(line, entry)
        return
    _put(line, entry)
    if entry.end in (End.KNOWN, End.UNKNOWN):
        _end_older(line, entry)


def standing(entries: Sequence[Entry]) -> list[Entry]:
    """The assertions that still stand: those whose start no later retraction cuts out (rule 6), in their order."""
    ordered = sorted(entries, key=lambda e: e.order)
    stand: list[Entry] = []
    for entry in ordered:
        if entry.asserts:
            stand.append(entry)
        else:
            stand = [claim for claim in stand if not cuts_start(entry, claim)]
    return stand


def cuts_start(hole: Entry, claim: Entry) -> bool:
    """Whether a retraction makes an assertion before it stop standing: the claim begins inside the certain hole."""
    return hole.value in (None, claim.value) and hole.start_hi <= claim.start_hi < hole.end_lo


def resting_on(line: Line, value: ValueKey, at: Instant) -> list[Entry]:
    """The claims on which the period of `value` around `at` rests, in their order; none where it does not hold.

    The period is the unbroken stretch, certain or possible, and its claims are those that show inside it (rule 5).
    """
    if value not in line.at(at):
        return []
    seen: set[Entry] = set()
    for _, _, cell in line.cells(at):
        if value not in cell:
            break
        seen.update(cell[value].seen)
    for _, _, cell in line.cells_before(at):
        if value not in cell:
            break
        seen.update(cell[value].seen)
    return sorted(seen, key=lambda e: e.order)


def _put(line: Line, entry: Entry) -> None:
    """Write one assertion over its extent (rules 2, 3, 4, 9)."""
    value = _value(entry)
    start_lo, start_hi = entry.start_lo, entry.start_hi
    if not entry.dated:
        start_lo = _after_last_rival(line, entry)
    end_lo, end_hi = entry.end_lo, entry.end_hi
    match entry.end:
        case End.OPEN:
            end_lo, end_hi = _next_known_start(line, entry)
            if _certain(line.at(start_hi), value):  # believed there already: it ends no later than that
                believed_to = _run_end(line, value, start_hi, end_hi)
                end_lo, end_hi = min(end_lo, believed_to), min(end_hi, believed_to)
                if not entry.dated or value in line.at(start_lo):
                    _witness(line, entry, start_lo, end_hi)
                    return
        case End.UNKNOWN:  # never unseats what is known after it
            end_lo = _first_seen(entry)
            end_hi = min(end_hi, _next_rival(line, entry, end_lo, end_hi))
        case End.KNOWN if not entry.dated and _rival(line.at(start_hi), entry):
            end_lo = end_hi = start_hi  # a known rival just before the end stays: nothing is certain
        case _:
            pass
    line.cut(start_hi, end_lo)
    for instant, cell in line.span(start_lo, end_hi):
        _write(cell, entry, sure=start_hi <= instant < end_lo)


def _write(cell: Cell, entry: Entry, *, sure: bool) -> None:
    value = _value(entry)
    held = cell.get(value)
    seen = (*held.seen, entry) if held else (entry,)
    if sure or (held and held.certain):
        if sure and entry.functional:
            cell.clear()
        cell[value] = Held(True, seen)
        return
    if entry.functional:  # what was certain alone is now only possible beside it
        for rival, rival_held in cell.items():
            cell[rival] = Held(False, rival_held.seen)
    cell[value] = Held(False, seen)


def _witness(line: Line, entry: Entry, start: Instant, end: Instant) -> None:
    """A repetition of what is believed: it opens no period, and bounds what arrives later (rule 7)."""
    value = _value(entry)
    for _, cell in line.span(start, end):
        if value in cell:
            certain, seen = cell[value]
            cell[value] = Held(certain, (*seen, entry))


def _end_older(line: Line, entry: Entry) -> None:
    """A stated end also ends what was said of the value and runs over it without a statement of its own (rule 2).

    It ends open claims that begin before it, and claims of the very same start, whose end it decides.
    """
    value = _value(entry)
    end_lo, end_hi = entry.end_lo, entry.end_hi
    if entry.end is End.UNKNOWN:
        end_hi = entry.observed_at
        seen_to = _seen_to(line, entry)
        if seen_to is None:
            return
        end_lo = min(end_hi, seen_to)
    start = max(end_lo, entry.start_lo) if entry.dated else end_lo
    line.cut(start, end_hi)
    stop = start
    for instant, after, cell in line.cells(start):
        if value not in cell:
            break
        others = [e for e in cell[value].seen if e is not entry]
        if any(_ends_itself(other, entry) for other in others):
            break
        begins = [e.start_lo for e in others if e.start_hi >= end_hi]
        stop = min([after, *(max(begin, instant) for begin in begins)])
        if stop < after:
            break
    for instant, cell in line.span(start, stop):
        if instant < end_hi:
            cell[value] = Held(False, cell[value].seen)
        else:
            del cell[value]


def _ends_itself(other: Entry, entry: Entry) -> bool:
    """Whether another claim of the value has an end of its own that the new one does not restate."""
    if other.end is End.OPEN:
        return False
    restates = (other.start_lo, other.start_hi) == (entry.start_lo, entry.start_hi)
    return other.end in (End.UNKNOWN, End.INFINITY) or entry.end is End.UNKNOWN or not restates


def _first_seen(entry: Entry) -> Instant:
    """Up to where its value was certainly there by its start alone: one microsecond, and none of an open start."""
    return entry.start_hi if entry.start is Start.OPEN else Instant(entry.start_hi + 1)


def _seen_to(line: Line, entry: Entry) -> Instant | None:
    """For an end that nobody knows: up to where the value was certainly seen; `None` where it did not hold then."""
    value, over = _value(entry), entry.observed_at
    sure = [_first_seen(entry)] if entry.dated else []
    began = None
    for instant, _, cell in line.cells_before(over):
        if value not in cell:
            break
        began = instant
        sure += [max(_first_seen(e), e.observed_at) for e in cell[value].seen if e is not entry and e.end is End.OPEN]
    return None if began is None else max([began, *sure])


def _cut_hole(line: Line, hole: Entry) -> None:
    """Cut a period out of what is believed, in its certain part; in the rest it is only possible (rule 6)."""
    line.cut(hole.start_hi, hole.end_lo)
    for instant, cell in line.span(hole.start_lo, hole.end_hi):
        for value in [hole.value] if hole.value is not None else list(cell):
            if value in cell:
                if hole.start_hi <= instant < hole.end_lo:
                    del cell[value]
                else:
                    cell[value] = Held(False, cell[value].seen)


def _rival(cell: Cell, entry: Entry) -> bool:
    """Whether another value certainly holds in a slot that holds one."""
    return entry.functional and any(held.certain for value, held in cell.items() if value != entry.value)


def _after_last_rival(line: Line, entry: Entry) -> Instant:
    """Where an unknown start may lie at the earliest: an unknown never unseats a known (rule 9)."""
    if not entry.functional:
        return OPEN_START
    for _, after, cell in line.cells_before(entry.start_hi):
        if _rival(cell, entry):
            return min(after, entry.start_hi)
    return OPEN_START


def _next_rival(line: Line, entry: Entry, start: Instant, end: Instant) -> Instant:
    """The first instant of `[start, end)` at which a rival certainly holds, else `end`."""
    if start >= end:
        return end
    return next((max(t, start) for t, _, cell in line.cells(start, end) if _rival(cell, entry)), end)


def _next_known_start(line: Line, entry: Entry) -> tuple[Instant, Instant]:
    """Where an open period ends: (end of its certain part, end of its possible part), by rule 3.

    That is the first instant, at or after its own start, at which a standing claim with a later start shows.
    """
    end_lo = end_hi = OPEN_END
    after_start = entry.start_hi
    for start, after, cell in line.cells(after_start):
        for value, (certain, seen) in _competing(cell, entry):
            same = value == entry.value
            for claim in seen:
                if claim.start_hi > after_start and certain and (same or claim.start_lo > after_start):
                    begins = max(start, claim.start_hi)
                    end_hi = min(end_hi, begins) if begins < after else end_hi
                if claim.start_lo > after_start and (certain or not same):
                    begins = max(start, claim.start_lo)
                    end_lo = min(end_lo, begins) if begins < after else end_lo
        if end_hi < after:
            break
    return min(end_lo, end_hi), end_hi


def _competing(cell: Cell, entry: Entry) -> Iterable[tuple[ValueKey, Held]]:
    """What of a cell bears on an assertion: all values where one may hold, else its own."""
    if entry.functional:
        return cell.items()
    value = _value(entry)
    return ((value, cell[value]),) if value in cell else ()


def _run_end(line: Line, value: ValueKey, start: Instant, limit: Instant) -> Instant:
    """Where the unbroken stretch of `value` around `start` ends, `limit` at the latest."""
    return next((t for t, _, cell in line.cells(start, limit) if value not in cell), limit)


def _certain(cell: Cell, value: ValueKey) -> bool:
    return value in cell and cell[value].certain


def _value(entry: Entry) -> ValueKey:
    if entry.value is None:
        raise TypeError("an assertion has a value")
    return entry.value
