import html
import json

import pytest

from api.problems import ALL_PROBLEMS, STATUS, error_response, problem_document, problem_html, problems_html, safe_json
from ontology import errors
from ontology.errors import Busy, Fault, Incorrect, Unauthenticated, VersionChanged, VigenciaError, Violation

RAISED = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, VigenciaError)]


@pytest.mark.parametrize("error", RAISED)
def test_every_error_becomes_a_problem_document_with_its_status(error: type[VigenciaError]) -> None:
    response = error_response(error("it broke"), request_id="req_1")
    document = json.loads(bytes(response.body))

    assert response.status_code == document["status"] == STATUS[error.default_slug]
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["cache-control"] == "no-store"
    assert document["type"] == f"/problems/{error.default_slug}"
    assert document["request_id"] == "req_1"


def test_what_is_worth_another_try_says_when() -> None:
    assert error_response(Busy("locked"), request_id="r").headers["retry-after"] == "1"
    assert error_response(Busy("locked", retry_after=7), request_id="r").headers["retry-after"] == "7"
    assert "retry-after" not in error_response(Incorrect("wrong"), request_id="r").headers


def test_a_caller_without_a_key_is_told_how_to_show_one() -> None:
    assert error_response(Unauthenticated("who?"), request_id="r").headers["www-authenticate"].startswith("Bearer")


def test_a_stale_version_gives_the_tag_of_the_present_one() -> None:
    stale = VersionChanged("old", members={"current_version": 7})

    assert error_response(stale, request_id="r").headers["etag"] == '"v7"'


def test_a_defect_shows_nothing_of_itself() -> None:
    document = json.loads(bytes(error_response(Fault("mira lives", members={"a": 1}), request_id="r").body))

    assert "mira" not in json.dumps(document)
    assert "a" not in document


def test_members_cannot_replace_what_every_problem_has() -> None:
    document = problem_document("too-large", "big", request_id="r", members={"status": 200, "limit": 5})

    assert (document["status"], document["limit"]) == (413, 5)


def test_violations_become_errors() -> None:
    wrong = Violation(pointer="/a", code="bad", detail="no")

    assert problem_document("invalid-request", "x", request_id="r", violations=[wrong])["errors"] == [
        {"pointer": "/a", "code": "bad", "detail": "no"}
    ]


def test_what_utf_8_cannot_carry_is_escaped() -> None:
    assert safe_json({"a": "é\ud800"}) == b'{"a": "\\u00e9\\ud800"}'


def test_each_problem_type_has_one_status_and_a_page() -> None:
    assert set(STATUS) == set(ALL_PROBLEMS)
    for slug, problem in ALL_PROBLEMS.items():
        assert html.escape(problem.title) in problem_html(slug)
        assert f"/problems/{slug}" in problems_html()
