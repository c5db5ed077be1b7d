"""`vigencia why`: the evidence behind what is believed."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from api.commands import options
from api.commands.answering import NOT_FOUND, Out, answering

if TYPE_CHECKING:
    from ontology.errors import JSON


def why(
    fact: Annotated[str, typer.Argument(metavar="FACT|SUBJECT", help="The id of a fact, fct_…, or a subject.")],
    predicate: Annotated[str | None, typer.Argument(help="With a subject: one predicate, or all of them.")] = None,
    valid_at: options.ValidAt = None,
    known_at: options.KnownAt = None,
    namespace: options.Namespace = "default",
    purpose: options.Purpose = "general",
    tenant: options.Tenant = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Why a fact is believed: who said so and when, which transaction made it a fact, and what replaced it.

    vigencia why mira passport_deadline

    vigencia why mira passport_deadline --valid-at 2026-06-10 --known-at 2026-06-02

    Exit code 3 where nothing is believed.
    """
    with answering(as_json=as_json, quiet=quiet) as out:
        from api.reasons import fact_with_id, facts_of, reason
        from api.settings import read_settings
        from api.wire import rendering
        from api.wire.live import live
        from api.wiring import services
        from graph.state import resolve_for
        from ontology.instants import parse_instant
        from ontology.scope import scope_of
        from ontology.values import entity_mention

        settings = read_settings(store=store, tenant=tenant)
        with services(settings, must_exist=True) as opened:
            scope = scope_of(settings.tenant, namespace, purpose)
            now = opened.clock.now()
            with opened.store.read(scope) as reader:
                asked = [None if text is None else parse_instant(text) for text in (valid_at, known_at)]
                as_of = resolve_for(reader, now, *asked)
                if fact.startswith("fct_"):
                    facts = [fact_with_id(reader, fact)]
                    name: str | None = facts[0].version.slot.predicate
                else:
                    name = None if predicate is None else opened.writer.schema(scope).predicate(predicate).name
                    facts = facts_of(reader, entity_mention(fact, pointer="/subject"), name, as_of)
                reasons = [reason(reader, each, as_of.known_at, now) for each in facts]
            tools = live(opened.writer.schema(scope), [name])
        document: dict[str, JSON] = {"items": reasons, **tools, "as_of": rendering.as_of(as_of, now)}
        _show(out, document)
        if not reasons:
            raise typer.Exit(NOT_FOUND)


def _show(out: Out, document: dict[str, Any]) -> None:
    from api.commands.showing import as_of_text, tell_live

    if out.as_json:
        out.document(document)
        return
    for each in document["items"]:
        _show_reason(out, each)
    tell_live(out, document)
    out.tell(as_of_text(document["as_of"]))


def _show_reason(out: Out, each: dict[str, Any]) -> None:
    from api.commands.showing import certainty_text, end_text, entity_text, short, start_text, value_text

    fact = each["fact"]
    out.line(
        f"{entity_text(fact['subject'])} {fact['predicate']} {value_text(fact['value'])}, from {start_text(fact)} "
        f"to {end_text(fact)}, {certainty_text(fact)}, confidence {fact['confidence']:.2f}, {fact['id']}"
    )
    for claim in each["claims"]:
        episode = "" if claim["episode"] is None else f" in {claim['episode']}"
        period = f"from {claim['valid_from'] or 'unknown'} to {claim['valid_to'] or 'open'}"
        out.line(f"  said by {claim['source']}{episode} at {short(claim['observed_at'])}, {period}, {claim['id']}")
    _show_transaction(out, "recorded", each["made_in"])
    if each["ended_in"] is not None:
        _show_transaction(out, "no longer believed so since", each["ended_in"])
    for word, side in (("replaced by", "replaced_by"), ("followed by", "followed_by")):
        for other in each[side]:
            out.line(
                f"  {word} {value_text(other['value'])}, from {start_text(other)} to {end_text(other)}, {other['id']}"
            )


def _show_transaction(out: Out, word: str, made: dict[str, Any] | None) -> None:
    if made is not None:
        out.line(f"  {word} {made['recorded_at']} by {made['principal']}, position {made['position']}, {made['kind']}")
