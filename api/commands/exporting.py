"""`vigencia export`: take what a scope holds away, with its whole provenance, in a form that other programs read."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.commands import options
from api.commands.answering import answering
from api.commands.files import STREAM, counted, written

if TYPE_CHECKING:
    from ontology.errors import JSON

export = typer.Typer(name="export", help="What memory holds, for other programs.", no_args_is_help=True)


@export.command()
def rdf(
    file: Annotated[str, typer.Argument(help="Where to; - is standard output.")] = STREAM,
    text: Annotated[bool, typer.Option("--text", help="Also words of episodes, quotes and summaries.")] = False,
    held: Annotated[bool, typer.Option("--held", help="Also claims that wait or were turned down.")] = False,
    current: Annotated[bool, typer.Option("--current", help="Also a graph of plain statements that hold now.")] = False,
    progress: Annotated[str, typer.Option("--progress", help="auto, json or none.")] = "auto",
    tenant: options.Tenant = None,
    namespace: options.Namespace = "default",
    purpose: options.Purpose = "general",
    store: options.Store = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Write the whole ledger of one scope as RDF: N-Quads, with PROV-O and the two times of each fact.

    vigencia export rdf memory.nq

    vigencia export rdf - --text --current | gzip > memory.nq.gz

    A file appears under its name when it is complete; its last lines count the others. With --json the summary is on
    stdout, so name a file then.
    """
    with answering(as_json=as_json, quiet=quiet) as out:
        from api.settings import read_settings
        from api.wiring import services
        from graph.export import Included
        from graph.n_quads import export_n_quads
        from ontology.errors import Incorrect
        from ontology.packs import load_core
        from ontology.rdf_terms import names_of
        from ontology.scope import scope_of

        if as_json and file == STREAM:
            raise Incorrect("with --json stdout has the summary; name a file for the export")
        settings = read_settings(store=store, tenant=tenant)
        scope = scope_of(settings.tenant, namespace, purpose)
        with (
            services(settings, must_exist=True) as opened,
            counted(progress, quiet, "exporting") as (bar, told),
            opened.store.read(scope) as reader,
            written(file) as stream,
        ):
            done = export_n_quads(
                reader, stream, names=names_of(scope.tenant), included=Included(words=text, held=held),
                core=load_core(), now=opened.clock.now() if current else None, progress=told,
            )  # fmt: skip
            bar.end()
        document: dict[str, JSON] = {
            "position": done.position, "digest": done.digest.hex(), "statements": done.statements,
        }  # fmt: skip
        if as_json:
            out.document(document)
        elif file != STREAM:
            out.table(tuple(document), [[str(found) for found in document.values()]])
        else:
            out.tell(f"{done.statements} statements up to position {done.position}")
