"""`vigencia namespaces`: who owns which compartment of memory."""

from typing import Annotated

import typer

from api.commands import options
from api.commands.answering import answering

namespaces = typer.Typer(name="namespaces", help="Compartments of memory and their owners.", no_args_is_help=True)


@namespaces.command("list")
def list_(
    tenant: options.Tenant = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
) -> None:
    """List the namespaces of the tenant with their owners.

    vigencia namespaces list

    vigencia namespaces list --tenant acme --json

    One that nobody owns is written to by whoever may write there, and goes to the first who does it with a key.
    """
    with answering(as_json=as_json) as out:
        from api.routes.namespaces import namespace
        from api.settings import read_settings
        from api.wiring import services
        from consolidation import admission
        from ontology.scope import Tenant, check_name

        settings = read_settings(store=store, tenant=tenant)
        with services(settings, must_exist=True) as opened:
            found = admission.namespaces(opened.store, Tenant(check_name(settings.tenant, "tenant")))
        items = [namespace(name, owner) for name, owner in found.items()]
        if as_json:
            out.document({"items": items})
            return
        columns = ("namespace", "owner", "since", "by")
        out.table(columns, [[str(item[name] or "") for name in columns] for item in items])


@namespaces.command()
def transfer(
    name: Annotated[str, typer.Argument(help="The namespace.")],
    to: Annotated[str, typer.Option("--to", help="The principal that shall own it.")],
    tenant: options.Tenant = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
) -> None:
    """Give a namespace to a principal, who alone writes there from then on.

    vigencia namespaces transfer notes --to ann

    vigencia namespaces transfer default --to importer --tenant acme --json
    """
    with answering(as_json=as_json) as out:
        from api.auth.principals import PERSON
        from api.routes.namespaces import transferred
        from api.settings import read_settings
        from api.wiring import services
        from consolidation import admission
        from ontology.access import check_principal
        from ontology.scope import scope_of

        settings = read_settings(store=store, tenant=tenant)
        scope = scope_of(settings.tenant, name)
        with services(settings, must_exist=True) as opened:
            before, after = admission.transfer(
                opened.store, scope, to=check_principal(to, "/to"), by=PERSON, now=opened.clock.now(), administers=True
            )
        if as_json:
            out.document(transferred(before, after))
            return
        whose = "nobody's" if before is None else f"{before.owner}'s"
        out.line(f"{after.namespace} belongs to {after.owner}; it was {whose}")
