"""What is at hand of a subject, and everything that is held on it."""

from starlette.responses import Response

from api.routes.about import BEGINNING, SHAPE, held_but_hidden, is_held, page_of
from api.routes.call import Call
from api.routes.entities import visible
from api.routes.reading import Question, answered, ask, paged, reading, subject_of
from api.routes.routing import LISTED, READ, Routes
from api.wire import rendering
from api.wire.profiles import About, AboutQuery, ProfileAnswer, ProfileQuery, profile_document
from api.wire.rendering import Wire
from graph.naming import names_of
from graph.profile import Profile, profile_of
from ontology.claims import Entity
from ontology.errors import NotFound, shown
from ontology.grants import Grant

routes = Routes("profiles", "What is at hand of a subject, and everything that is held on it.")


@routes.get("/v1/profiles/{id}", query=ProfileQuery, answer=ProfileAnswer, problems=(*READ, "not-found"))
def read_profile(call: Call, query: ProfileQuery) -> Response:
    """The few stable facts about a subject worth having at hand each time, in 600 tokens at most.

    By its id or its key. Certain facts only: its profile notes, preferences, decisions, skills, and what is said under
    declared predicates, the surest of each kind first; `left_out` counts the rest. Working notes and what is sensitive
    never stand in it. A line has priority and no authority: each keeps its fact, its sources and its dates.
    """
    with reading(call, query) as reader:
        question = ask(call, reader, query)
        subject = visible(question, call.part("id"))
        profile = profile_at(question, subject)
        answer = answered(question, profile_document_of(question, subject, profile))
    if query.session is not None:
        scope = call.scope(query.namespace, query.purpose, needs=Grant.READ)
        call.served(scope, query.session, [line.fact.version for line in profile.lines])
    return answer


@routes.get("/v1/subjects/{id}/about", query=AboutQuery, answer=About, problems=(*LISTED, "not-found"))
def read_about(call: Call, query: AboutQuery) -> Response:
    """Everything that is held on a subject in this scope, page by page, by its id or its key.

    What is believed of it and of others about it, whenever it holds; every claim with its source, its dates and when it
    expires; recorded episodes that mention it or that those claims cite; and that something of it was forgotten. Claims
    that were never believed are shown to reviewers and to whoever wrote them. `acts` are the ways to correct or forget
    each. A page may be short, and the next one full.
    """
    with reading(call, query) as reader:
        question = ask(call, reader, query, limit=query.limit, cursor=query.cursor, shape=SHAPE)
        subject = subject_of(reader, call.part("id"))
        if subject is None or not is_held(question, subject):
            raise NotFound(f"nothing is held on {shown(call.part('id'))} in this scope")
        items, last = page_of(question, subject)
        return paged(
            question, items, last, subject={"id": subject.id, "key": subject.key},
            names=list(names_of(reader, [subject.id], question.as_of)[subject.id]),
            namespace=query.namespace, purpose=query.purpose,
            summary=_summary(question, subject) if question.after in (None, BEGINNING) else None,
        )  # fmt: skip


def profile_at(question: Question, subject: Entity) -> Profile:
    """The profile of a subject at the two instants of a question."""
    return profile_of(question.reader, subject.id, question.as_of, question.call.schemas.of(question.reader))


def profile_document_of(question: Question, subject: Entity, profile: Profile) -> Wire:
    """A profile on the wire."""
    versions = [line.fact.version for line in profile.lines]
    names = rendering.names_in(question.reader, versions, {subject.id: subject})
    heads = rendering.versions_of(question.reader, versions)
    return profile_document(profile, subject, names, heads, question.as_of.known_at, question.served_at)


def _summary(question: Question, subject: Entity) -> Wire:
    return {
        "profile": profile_document_of(question, subject, profile_at(question, subject)),
        "held": held_but_hidden(question, subject),
        "acts": {
            "forget": f"/v1/subjects/{subject.id}/forget",
            "add": "/v1/claims",
            "profile": f"/v1/profiles/{subject.id}",
        },
    }
