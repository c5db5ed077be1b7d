"""Writing: items of one transaction, and the withdrawal of what never counted."""

from starlette.responses import Response

from api.auth.principals import Principal
from api.authority import sees_held
from api.routes.call import Call
from api.routes.reading import answered, ask, moment, reading
from api.routes.routing import READ, WRITE, Routes
from api.routes.writing import expect, version_of, write
from api.wire import answers, rendering
from api.wire.bodies import EXAMPLE, ClaimsBody, WithdrawBody
from api.wire.episodes import quoted
from api.wire.queries import ListQuery, NoQuery
from consolidation.items import Item, Withdraw
from ontology.errors import Incorrect, NotFound, Refused, TooLarge, Violation, pointer
from ontology.grants import Grant
from ontology.ids import ClaimId
from ontology.instants import OPEN_END, Instant

CORRECT = (*WRITE, "precondition-required")

routes = Routes("claims", "Say what is so, what changed, and what was wrong.")


@routes.post(
    "/v1/claims",
    body=ClaimsBody,
    answer=answers.Receipt,
    problems=(*WRITE, "recorded-at-not-settable"),
    examples={
        "a fact": EXAMPLE,
        "a change": {
            "items": [
                {
                    "op": "assert", "subject": "mira", "predicate": "passport_deadline", "value": "2026-06-30",
                    "valid_from": "2026-06-03T10:00:00Z", "observed_at": "2026-06-03T10:00:00Z", "episode": "chat-2",
                }
            ]
        },
        "a correction": {
            "items": [
                {
                    "op": "replace", "subject": "mira", "predicate": "passport_deadline", "old": "2026-07-15",
                    "at": "2026-06-02", "value": "2026-06-30", "episode": "chat-2", "reason": "misread",
                }
            ]
        },
    },
)  # fmt: skip
def write_claims(call: Call, query: NoQuery) -> Response:
    """Do a list of items in one transaction, in order, all or nothing.

    `assert` says that a subject has a value; a change is an assert with a later start. `replace` and `withdraw`
    correct what was never true, `retract` cuts a period out of what is believed, `erase` leaves no trace. The
    receipt says for each item what it did.
    """
    body = call.body(ClaimsBody)
    scope = call.scope(body.namespace, body.purpose, needs=Grant.WRITE, instead=Grant.PROPOSE)
    items_max = call.services.settings.items_max
    if len(body.items) > items_max:
        raise TooLarge(f"{len(body.items)} items in one transaction, {items_max} at most; split them")
    recorded_at = _import_time(call.principal, body.import_recorded_at)
    items: list[Item] = []
    for index, each in enumerate(body.items):
        try:
            items.append(each.item())
        except Incorrect as exc:
            raise exc.under(pointer("items", index)) from None
    return write(
        call, scope, items, dry_run=body.dry_run, operation_id=body.operation_id, recorded_at=recorded_at
    )  # fmt: skip


@routes.get("/v1/claims/{id}", query=ListQuery, answer=answers.Claim, problems=(*READ, "not-found"))
def read_claim(call: Call, query: ListQuery) -> Response:
    """What one source said, as it said it, and whether it still counts.

    What was never believed is shown to whoever wrote it, and to reviewers. Its `ETag` is the version of the slot, for
    `If-Match`.
    """
    with reading(call, query) as reader:
        told = reader.claim(ClaimId(call.part("id")))
        if told.folded_from == OPEN_END and not sees_held(call.principal, told):
            raise NotFound(f"no claim {told.claim.id!r} here")
        quote = quoted(reader.quotes([told.claim.id]).get(told.claim.id))
        question = ask(call, reader, query)
        return answered(
            question,
            {**rendering.claim(told, rendering.names_told(reader, [told]), question.served_at), "span": quote},
            version=version_of(reader, told.claim.slot),
        )


@routes.post(
    "/v1/claims/{id}/withdraw",
    body=WithdrawBody,
    answer=answers.Receipt,
    problems=CORRECT,
    optional=True,
    precondition=True,
    examples={"misheard": {"reason": "misheard"}},
)
def withdraw_claim(call: Call, query: NoQuery) -> Response:
    """A claim never counted: its slot is folded again without it.

    What it had closed opens again. The claim stays readable, and so does what was believed before.
    """
    body = call.body(WithdrawBody, optional=True)
    scope = call.scope(body.namespace, body.purpose, needs=Grant.WRITE)
    id = ClaimId(call.part("id"))
    with call.read(call.scope(body.namespace, body.purpose, needs=Grant.READ)) as reader:
        slot = reader.claim(id).claim.slot
        expected = expect(call, reader, slot, body.expected)
    item = Withdraw(claim=id, reason=body.reason, expected_version=expected)
    return write(call, scope, [item], dry_run=body.dry_run, operation_id=body.operation_id)


@routes.post(
    "/v1/sources/{id:path}/withdraw",
    body=WithdrawBody,
    answer=answers.Receipt,
    problems=WRITE,
    optional=True,
    examples={"unreliable": {"reason": "the feed was broken"}},
)
def withdraw_source(call: Call, query: NoQuery) -> Response:
    """Nothing that a source ever said counted: every slot that it spoke of is folded again without it."""
    body = call.body(WithdrawBody, optional=True)
    scope = call.scope(body.namespace, body.purpose, needs=Grant.WRITE)
    item = Withdraw(source=call.part("id"), reason=body.reason, expected_version=body.expected)
    return write(call, scope, [item], dry_run=body.dry_run, operation_id=body.operation_id)


def _import_time(principal: Principal, given: str | None) -> Instant | None:
    """The recorded time that an importer gives; raises `Refused` for whoever may not import."""
    if given is None:
        return None
    if not principal.may_import:
        detail = "only a principal that may import gives recorded times; leave 'import_recorded_at' out"
        violation = Violation(pointer="/import_recorded_at", code="recorded_at_not_settable", detail=detail)
        raise Refused(detail, slug="recorded-at-not-settable", violations=(violation,))
    return moment(given, None, "/import_recorded_at")
