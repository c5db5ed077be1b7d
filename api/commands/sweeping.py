"""`vigencia sweep`: to write down what has expired, now."""

from dataclasses import asdict

from api.commands import options
from api.commands.answering import answering


def sweep(
    dry_run: options.DryRun = False,
    tenant: options.Tenant = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Write down which claims have expired, erase what may not stay, and prune what is only bookkeeping.

    vigencia sweep --dry-run

    vigencia sweep --store bolt://localhost:7687 --json

    Of every tenant, or of the one that --tenant names. Workers do the same every VIGENCIA_SWEEP_SECONDS. No read waits
    for it: what has expired is not served in any case. Started again after a kill it goes on.
    """
    with answering(as_json=as_json, quiet=quiet) as out:
        from api.settings import read_settings
        from api.wiring import make_sweeper, services
        from ontology.scope import Tenant

        settings = read_settings(store=store, tenant=tenant)
        with services(settings, must_exist=True) as opened:
            tenants = None if tenant is None else [Tenant(settings.tenant)]
            swept = asdict(make_sweeper(opened).sweep(tenants, dry_run=dry_run))
        if as_json:
            out.document({"dry_run": dry_run, **swept})
            return
        out.table(("what", "count"), [(name, str(count)) for name, count in swept.items()])
