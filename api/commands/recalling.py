"""`vigencia recall`: what memory says to a question in words, as an agent is told it."""

from typing import Annotated

import typer

from api.commands import options
from api.commands.answering import NOT_FOUND, answering


def recall(
    question: Annotated[str, typer.Argument(help="The question, with dates if it has any: 'as we knew on 2 June'.")],
    valid_at: options.ValidAt = None,
    known_at: options.KnownAt = None,
    zone: Annotated[
        str | None, typer.Option("--zone", help="In which the days of the question are meant; UTC if left out.")
    ] = None,
    tokens: Annotated[int, typer.Option("--tokens", min=200, max=16_000, help="What the text may have.")] = 1_000,
    kinds: Annotated[
        list[str] | None, typer.Option("--kind", help="Only facts of this kind; may be given several times.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=200, help="How many lines at most.")] = 50,
    namespace: options.Namespace = "default",
    purpose: options.Purpose = "general",
    tenant: options.Tenant = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """What memory says to a question: dated lines with their sources, small enough for a model to read in the turn.

    vigencia recall "When is mira's passport deadline?"

    vigencia recall "What did we believe on 2 June about mira's passport deadline on 10 June?" --json

    Dates in the question say at which instants it is asked; --valid-at and --known-at come first. Exit code 3 where
    memory says nothing to it.
    """
    with answering(as_json=as_json, quiet=quiet) as out:
        from api.commands.asking import asking
        from api.commands.showing import as_of_text, tell_live
        from api.routes.recall import routes

        asked = {
            "question": question, "valid_at": valid_at, "known_at": known_at, "zone": zone, "tokens": tokens,
            "kinds": kinds or None, "limit": limit,
        }  # fmt: skip
        with asking(store=store, tenant=tenant, namespace=namespace, purpose=purpose) as ask:
            answer = ask.post(routes, "/v1/recall", asked)
        if as_json:
            out.document(answer)
        else:
            for line in answer["text"].splitlines():
                out.line(line)
            for date in answer["dates"]:
                at = f"{date['clock']} {date['at']}" if date["used"] else f"not used: {date['note'] or 'as stated'}"
                out.tell(f"{date['words']!r}: {at}")
            tell_live(out, answer)
            out.tell(as_of_text(answer["as_of"]))
        if not answer["lines"]:
            raise typer.Exit(NOT_FOUND)
