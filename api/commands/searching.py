"""`vigencia search`: what memory has to do with a text."""

from typing import Annotated, Any

import typer

from api.commands import options
from api.commands.answering import NOT_FOUND, Out, answering

CHARS_SHOWN = 200
"""Of the words of an episode; `--json` has all of them."""


def search(
    text: Annotated[str, typer.Argument(help="Words or a question; nothing in it is read as syntax.")],
    kind: Annotated[
        list[str] | None, typer.Option("--kind", help="Facts of this kind alone; may be repeated.", metavar="KIND")
    ] = None,
    predicate: Annotated[
        list[str] | None, typer.Option("--predicate", help="Facts under it alone; may be repeated.", metavar="NAME")
    ] = None,
    about: Annotated[
        list[str] | None,
        typer.Option("--about", help="Facts that lead to this entity alone; may be repeated.", metavar="SUBJECT"),
    ] = None,
    near: Annotated[
        list[str] | None,
        typer.Option("--near", help="What lies around this entity first; may be repeated.", metavar="SUBJECT"),
    ] = None,
    with_history: Annotated[bool, typer.Option("--history", help="Facts that hold at another time, too.")] = False,
    with_held: Annotated[bool, typer.Option("--held", help="Claims that wait for a decision, too.")] = False,
    recipe: Annotated[
        str, typer.Option("--recipe", help="What counts how much: balanced, words, meaning or recent.")
    ] = "balanced",
    valid_at: options.ValidAt = None,
    known_at: options.KnownAt = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=200, help="How many hits at most.")] = 20,
    namespace: options.Namespace = "default",
    purpose: options.Purpose = "general",
    tenant: options.Tenant = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Facts and words of episodes that match a text, best first.

    vigencia search "passport deadline"

    vigencia search "passport deadline" --history --valid-at 2026-06-10 --json

    Exit code 3 where nothing does.
    """
    with answering(as_json=as_json, quiet=quiet) as out:
        from api.commands.asking import asking
        from api.routes.search import routes

        wanted = [name for name, given in (("history", with_history), ("held", with_held)) if given]
        with asking(store=store, tenant=tenant, namespace=namespace, purpose=purpose) as ask:
            answer = ask.post(
                routes,
                "/v1/search",
                {
                    "text": text, "kinds": kind, "predicates": predicate, "about": about, "near": near,
                    "include": wanted, "recipe": recipe, "valid_at": valid_at, "known_at": known_at, "limit": limit,
                },
            )  # fmt: skip
        if as_json:
            out.document(answer)
        else:
            _show(out, answer)
        if not answer["items"]:
            raise typer.Exit(NOT_FOUND)


def _show(out: Out, answer: dict[str, Any]) -> None:
    from api.commands.showing import as_of_text

    rows = [(f"{hit['score']:.3f}", hit["holds"], *_told(hit)) for hit in answer["items"]]
    out.table(("score", "holds", "what", "from", "to", "id"), rows, {"id"})
    out.tell(as_of_text(answer["as_of"]))
    for line in _hints(answer):
        out.tell(line)


def _told(hit: dict[str, Any]) -> tuple[str, str, str, str]:
    """What a hit says, over which period, and its id."""
    from api.commands.showing import end_text, short, start_text

    match hit["type"]:
        case "fact":
            return hit["sentence"], start_text(hit), end_text(hit), hit["id"]
        case "episode":
            words = hit["text"]
            words = words if len(words) <= CHARS_SHOWN else words[:CHARS_SHOWN] + "…"
            return f"“{' '.join(words.split())}”", short(hit["observed_at"] or hit["recorded_at"]), "", hit["episode"]
    return hit["sentence"], hit["valid_from"] or "", hit["valid_to"] or "", hit["id"]


def _hints(answer: dict[str, Any]) -> list[str]:
    """What an answer tells besides its hits, a line each."""
    said = []
    if dropped := answer["dropped_terms"]:
        said.append(f"too common, and not asked for: {', '.join(dropped)}")
    if cut := answer["cut_terms"]:
        said.append(f"too many words, and not asked for: {', '.join(cut)}")
    others = answer["suppressed"]["earlier"] + answer["suppressed"]["later"]
    if others:
        least = "at least " if answer["suppressed"]["more"] else ""
        hold = "fact holds" if others == 1 else "facts hold"
        said.append(f"{least}{others} {hold} at another time; --history shows more")
    if not answer["vectors"]["used"]:
        said.append(answer["vectors"]["detail"])
    behind = answer["to_index"]
    if waiting := behind["statements"] + behind["episodes"]:
        said.append(f"{waiting} statements and episodes are not indexed yet, and not found: {_why(behind)}")
    if answer["truncated"] is not None and "limit" in answer["truncated"]["by"]:
        said.append("there is more; raise --limit")
    return said


def _why(behind: dict[str, Any]) -> str:
    return behind["problem"] or "a worker does it"
