"""`vigencia reembed`: to switch to another embedder."""

from typing import Annotated

import typer

from api.commands import options
from api.commands.answering import answering
from api.commands.progress import KINDS, Progress


def reembed(
    tenant: options.Tenant = None,
    store: options.Store = None,
    progress: Annotated[str, typer.Option("--progress", help="auto, json or none.")] = "auto",
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Give every text a vector of the embedder that VIGENCIA_EMBEDDER names, then search by these.

    VIGENCIA_EMBEDDER=sentence-transformers:models/minilm vigencia reembed

    VIGENCIA_EMBEDDER=openai:bge-m3 VIGENCIA_EMBEDDER_URL=http://127.0.0.1:8080/v1 vigencia reembed --tenant acme

    Of every tenant, or of the one that --tenant names. Until a tenant is done its old vectors are searched, by servers
    that have the old embedder; then restart them with the new one. Started again after a kill it goes on.
    """
    with answering(as_json=as_json, quiet=quiet) as out:
        from api.settings import read_settings
        from api.wiring import services
        from graph.reembedding import Reembedding
        from ontology.errors import Incorrect, shown
        from ontology.scope import Tenant

        if progress not in KINDS:
            raise Incorrect(f"--progress is one of {', '.join(KINDS)}, got {shown(progress)}")
        settings = read_settings(store=store, tenant=tenant)
        with services(settings, must_exist=True) as opened:
            if opened.embedder is None:
                raise Incorrect("no embedder is set", remedy="name one as VIGENCIA_EMBEDDER")
            work = Reembedding(store=opened.store, indexer=opened.indexer, embedder=opened.embedder)
            tenants = opened.store.tenants() if tenant is None else [Tenant(settings.tenant)]
            done = []
            with Progress("none" if quiet else progress) as bar:
                for each in tenants:
                    bar.phase(f"embedding {each}", work.left(each) or None)
                    if (switched := work.reembed(each, told=lambda texts: bar.advance(texts, {}))) is not None:
                        done.append((each, switched))
                    bar.end()
        if as_json:
            items = [
                {
                    "tenant": name, "model": switched.model.name, "dimensions": switched.model.dimensions,
                    "before": None if switched.before is None else switched.before.name, "texts": switched.texts,
                }
                for name, switched in done
            ]  # fmt: skip
            out.document({"items": items})
            return
        rows = [
            (name, "" if s.before is None else s.before.name, s.model.name, str(s.model.dimensions), str(s.texts))
            for name, s in done
        ]
        out.table(("tenant", "before", "model", "dimensions", "texts"), rows)
