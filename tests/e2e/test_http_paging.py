"""A walk over pages is one snapshot; an answer that has not changed is not sent again."""

import base64
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from tests.e2e.conftest import Api, fact, problem

COUNT = 23


@pytest.fixture
def many(api: Api) -> Api:
    api.write(*[fact("mira", "visited", f"place-{n:02d}", valid_from=f"2025-01-{n + 1:02d}") for n in range(COUNT)])
    return api


WALKS = [
    "/v1/state?subject=mira", "/v1/state?predicate=visited", "/v1/history?subject=mira",
    "/v1/history?subject=mira&order=desc", "/v1/audit?subject=mira", "/v1/belief?subject=mira",
    "/v1/believed?subject=mira&known_from=2026-01-01&known_to=2027-01-01", "/v1/log?subject=mira&known_from=2026-01-01",
    "/v1/changes?subject=mira&valid_after=2024-01-01", "/v1/claims?subject=mira", "/v1/entities",
]  # fmt: skip


def pages(api: Api, url: str, between: Callable[[], object] = lambda: None) -> list[dict[str, Any]]:
    found = [api.client.get(f"{url}&limit=5" if "?" in url else f"{url}?limit=5")]
    while found[-1].json()["next_cursor"]:
        between()
        link = found[-1].headers["link"]
        assert link.endswith('>; rel="next"')
        found.append(api.client.get(link[1 : link.index(">")]))
    assert all(page.status_code == 200 for page in found), found[-1].text
    return [page.json() for page in found]


@pytest.mark.parametrize("url", WALKS)
def test_a_walk_gives_each_item_once_and_in_the_order_of_one_page(many: Api, url: str) -> None:
    whole = many.client.get(f"{url}&limit=200" if "?" in url else f"{url}?limit=200").json()

    walked = pages(many, url)

    assert [item for page in walked for item in page["items"]] == whole["items"]
    assert len(walked) == -(-len(whole["items"]) // 5)
    assert len(whole["items"]) >= COUNT


@pytest.mark.parametrize("url", WALKS)
def test_a_walk_is_one_snapshot_while_writers_and_clocks_go_on(many: Api, url: str) -> None:
    before = many.client.get(f"{url}&limit=200" if "?" in url else f"{url}?limit=200").json()["items"]
    days = iter(range(2, 28))

    def write() -> None:
        many.at(f"2026-06-{next(days):02d}")
        many.write(fact("mira", "visited", f"late-{many.clock.reading}", valid_from="2024-06-01"))
        many.write({"op": "retract", "subject": "mira", "predicate": "visited", "value": "place-22"})

    walked = pages(many, url, write)

    def plain(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{k: v for k, v in item.items() if k not in ("version", "fact")} for item in items]

    assert plain([item for page in walked for item in page["items"]]) == plain(before)
    assert len({str(page["as_of"]["known_at"]) + page["as_of"]["valid_at"] for page in walked}) == 1


def test_a_cursor_belongs_to_its_query(many: Api) -> None:
    cursor = many.read("/v1/state", subject="mira", limit=5)["next_cursor"]

    assert many.read("/v1/state", subject="mira", limit=7, cursor=cursor)["items"]
    for other in (
        {"subject": "tom"}, {"subject": "mira", "predicate": "visited"}, {"subject": "mira", "purpose": "health"},
        {"subject": "mira", "certainty": "certain"}, {"subject": "mira", "known_at": "2026-06-01"},
    ):  # fmt: skip
        problem(many.get("/v1/state", **other, cursor=cursor), 400, "cursor-mismatch")
    problem(many.get("/v1/history", subject="mira", cursor=cursor), 400, "cursor-mismatch")


def test_an_altered_cursor_is_refused_and_never_fails(many: Api) -> None:
    cursor = many.read("/v1/state", subject="mira", limit=5)["next_cursor"]
    query, *rest = orjson.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    altered = [
        [query], [query, *rest, 1], [query, "x", *rest[1:]], [query, 2**63, *rest[1:]], [query, True, *rest[1:]],
        [query, *rest[:-1], None], [query, *rest[:-1], 1.5], {}, 5, [[]], None,
    ]  # fmt: skip
    texts = [base64.urlsafe_b64encode(orjson.dumps(each)).decode().rstrip("=") for each in altered]

    for text in (*texts, "", "é", "a" * 500, cursor[:-3], cursor + "!"):
        problem(many.get("/v1/state", subject="mira", limit=5, cursor=text), 400, "cursor-mismatch")


def test_a_cursor_grants_no_scope(many: Api) -> None:
    cursor = many.read("/v1/state", subject="mira", limit=5)["next_cursor"]

    problem(many.get("/v1/state", subject="mira", namespace="other", cursor=cursor), 400, "cursor-mismatch")


def test_pages_of_a_post_are_walked_too(many: Api) -> None:
    body: dict[str, Any] = {"pairs": [{"subject": "mira"}], "limit": 20}
    first = many.post("/v1/state", body).json()

    second = many.post("/v1/state", {**body, "cursor": first["next_cursor"]}).json()

    assert (len(first["items"]), len(second["items"]), second["next_cursor"]) == (20, 3, None)


@pytest.mark.parametrize("url", [*WALKS, "/v1/diff?subject=mira&known_from=2026-01-01", "/v1/events",
                                 "/v1/neighbourhood?subject=mira", "/v1/paths?subject=mira&steps=visited"])  # fmt: skip
def test_an_answer_that_has_not_changed_is_not_sent_again(many: Api, url: str) -> None:
    first = many.client.get(url)
    etag = first.headers["etag"]

    again = many.client.get(url, headers={"If-None-Match": f'"other", W/{etag}'})

    assert etag.startswith('"')
    assert first.headers["cache-control"] == "private, no-cache"
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
    many.at("2026-06-02")
    many.write(fact("mira", "visited", "late", valid_from="2024-06-01"))
    assert many.client.get(url, headers={"If-None-Match": etag}).status_code == 200


def test_time_alone_makes_another_answer(api: Api) -> None:
    api.write(fact("mira", "prefers_answers", "concise", valid_from="2026-06-10"))
    etag = api.get("/v1/state", subject="mira").headers["etag"]
    asked = {"If-None-Match": etag}

    api.at("2026-06-05")
    assert api.client.get("/v1/state?subject=mira", headers=asked).status_code == 304
    api.at("2026-06-11")
    assert api.client.get("/v1/state?subject=mira", headers=asked).status_code == 200


def test_an_erasure_changes_the_tag_of_an_old_instant(many: Api) -> None:
    url = "/v1/state?subject=mira&valid_at=2026-06-01&known_at=2026-06-01"
    etag = many.client.get(url).headers["etag"]

    many.write({"op": "erase", "subject": "mira"})

    assert many.client.get(url, headers={"If-None-Match": etag}).json()["items"] == []


def test_tags_differ_between_scopes_and_queries(many: Api) -> None:
    urls = [
        "/v1/state?subject=x",
        "/v1/state?subject=y",
        "/v1/state?subject=x&namespace=other",
        "/v1/history?subject=x",
    ]

    assert len({many.client.get(url).headers["etag"] for url in urls}) == len(urls)
