"""The arguments and options that several commands share."""

from typing import Annotated, TypeAlias

import typer

Store: TypeAlias = Annotated[
    str | None, typer.Option("--store", metavar="URL", help="Where memory is kept; VIGENCIA_STORE.")
]
Tenant: TypeAlias = Annotated[str | None, typer.Option("--tenant", help="Whose memory it is; VIGENCIA_TENANT.")]
Namespace: TypeAlias = Annotated[str, typer.Option("--namespace", help="The compartment of memory.")]
Purpose: TypeAlias = Annotated[str, typer.Option("--purpose", help="What the memory may be used for.")]
ValidAt: TypeAlias = Annotated[
    str | None, typer.Option("--valid-at", metavar="TIME", help="When it holds in the world; now if left out.")
]
KnownAt: TypeAlias = Annotated[
    str | None, typer.Option("--known-at", metavar="TIME", help="When memory held it; the newest commit if left out.")
]
CertainOnly: TypeAlias = Annotated[bool, typer.Option("--certain", help="Leave out what is only possible.")]
Limit: TypeAlias = Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many rows at most.")]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="One JSON document on stdout, as the API gives it.")]
DryRun: TypeAlias = Annotated[bool, typer.Option("--dry-run", help="Say what it would do, and write nothing.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no hints on stderr.")]

Subject: TypeAlias = Annotated[str, typer.Argument(help="An entity: its key, or its id ent_….")]
OptionalPredicate: TypeAlias = Annotated[str | None, typer.Argument(help="One predicate; all of them if left out.")]
