"""`vigencia`, the command line: it only puts the commands together, so that `--help` is quick."""

import gc
from typing import Annotated, Final

import typer

from api.commands.agents import mcp
from api.commands.answering import UNEXPECTED, tell
from api.commands.audit import audit
from api.commands.backups import backup, restore
from api.commands.exporting import export
from api.commands.forgetting import forget, tombstones
from api.commands.journals import journal
from api.commands.keys import keys
from api.commands.loading import load
from api.commands.namespaces import namespaces
from api.commands.reading import diff, history, state
from api.commands.reasons import why
from api.commands.recalling import recall
from api.commands.reembedding import reembed
from api.commands.review import review
from api.commands.searching import search
from api.commands.serving import demo, init, serve
from api.commands.sweeping import sweep
from api.commands.upkeep import config, doctor, ontology
from api.commands.worker import worker
from api.commands.writing import remember

GC_THRESHOLDS: Final = (50_000, 20, 50)
"""A write makes many small objects that die together; with the default of 700 a quarter of a bulk load goes there."""

app = typer.Typer(
    name="vigencia",
    help=(
        "A memory for agents that knows what was true when, and what was believed when.\n\n"
        "vigencia serve --demo\n\n"
        "vigencia state mira passport_deadline --valid-at 2026-06-10 --known-at 2026-06-02"
    ),
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_show_locals=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(version("vigencia"))
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


for command in (
    serve,
    worker,
    mcp,
    sweep,
    demo,
    init,
    remember,
    load,
    recall,
    state,
    history,
    diff,
    search,
    why,
    forget,
    backup,
    restore,
    reembed,
    doctor,
):
    app.command()(command)
app.add_typer(review)
app.add_typer(tombstones)
app.add_typer(audit)
app.add_typer(journal)
app.add_typer(export)
app.add_typer(ontology)
app.add_typer(keys)
app.add_typer(namespaces)
app.add_typer(config)


def main() -> None:
    """Run the command that the arguments name; what nobody expected ends with exit code 1 and its traceback."""
    gc.set_threshold(*GC_THRESHOLDS)
    try:
        app()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except Exception:
        import traceback

        tell(traceback.format_exc().rstrip())
        tell("internal: a defect; please report it with the lines above")
        raise SystemExit(UNEXPECTED) from None
