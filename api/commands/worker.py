"""`vigencia worker`: to read episodes that were recorded."""

import contextlib
import logging
import threading
from typing import Annotated

import typer

from api.commands import options
from api.commands.answering import answering

log = logging.getLogger("vigencia.api.worker")


def worker(
    drain: Annotated[bool, typer.Option("--drain", help="End when nothing is left that can be done now.")] = False,
    store: options.Store = None,
    quiet: options.Quiet = False,
) -> None:
    """Read the episodes that are queued, until a signal comes; several workers share the work.

    vigencia worker

    vigencia worker --drain

    `vigencia serve` has a worker of its own, unless VIGENCIA_WORKER is false. SIGTERM ends the episode at hand and
    gives back the others; what a worker that is killed had begun is begun again by another.
    """
    with answering(as_json=False, quiet=quiet) as out:
        from api.commands.serving import stoppable
        from api.logs import JSON_FORMAT, configure, told
        from api.settings import read_settings
        from api.wiring import make_worker, place_of, services

        settings = read_settings(store=store)
        configure(settings)
        with stoppable(), services(settings, wait_seconds=settings.store_wait_seconds) as opened:
            made = make_worker(opened)
            if drain:
                out.line(str(made.work_off()))
                return
            as_json = settings.log_format == JSON_FORMAT
            if as_json:
                log.info("the worker has begun", extra=told(store=place_of(settings).name))
            elif not quiet:
                out.tell(f"vigencia reads the episodes of {place_of(settings).name}; Ctrl-C stops it")
            try:
                with contextlib.suppress(KeyboardInterrupt):
                    made.run_until(threading.Event().wait)
            finally:
                if not made.stop(settings.lease_seconds):
                    log.warning("the episode at hand did not end in time; another worker takes it over")
            if as_json:
                log.info("the worker has ended")
            else:
                out.tell("stopped")
