"""POST /v1/search over HTTP: what is found, in which order and why, what is left out, and what a caller is told."""

from dataclasses import replace
from typing import Any

import pytest

from api.wire.bodies import SearchBody
from consolidation.serving import Served
from graph.embedders import Rows
from graph.embedding import PatientEmbedder
from graph.indexing import Indexer
from graph.ranking import FLOOR, RECIPES
from graph.searching import Models
from ontology.packs import load_core
from ontology.schema import Kind
from ontology.scope import scope_of
from tests.e2e.conftest import Api, answer, codes, fact, issued, local_client, problem
from tests.embedding import HashingEmbedder
from tests.scenarios.world import indexed


def tell(api: Api) -> None:
    api.at("2026-06-10T10:00:00Z")
    api.write(
        fact("mira", "name", "Mira Solberg", valid_from="2020-01-01"),
        fact("mira", "prefers_answers", "short answers with the date first", valid_from="2026-01-01"),
        fact("mira", "passport_deadline", "2026-07-15", valid_from="2026-06-01"),
        fact("mira", "lives_in", {"type": "entity", "key": "lisbon"}, valid_from="2020-01-01"),
        fact("lisbon", "name", "Lisbon", valid_from="2020-01-01"),
        fact("jonas", "note", "drinks coffee in Lisbon", valid_from="2026-01-01"),
        fact("jonas", "note", "perhaps drinks tea", valid_from="2026", confidence=0.4),
    )
    api.at("2026-06-10T11:00:00Z")
    api.write(fact("mira", "passport_deadline", "2026-06-30", valid_from="2026-06-03"))


def sought(api: Api, text: str, **asked: Any) -> dict[str, Any]:
    """The answer once all is indexed: a server that has just started takes longer for it than a question waits."""
    return indexed(lambda: answer(api.post("/v1/search", {"text": text, **asked})))


def sentences(found: dict[str, Any]) -> list[str]:
    return [item["sentence"] for item in found["items"]]


def test_a_question_finds_what_holds_in_words_with_every_part_of_its_score(api: Api) -> None:
    tell(api)

    found = sought(api, "Which passport deadline does Mira have?", limit=1)

    (first,) = found["items"]
    assert first["type"] == "fact"
    assert first["value"] == {"type": "date", "value": "2026-06-30"}
    assert first["sentence"] == "Mira Solberg passport deadline 2026-06-30"
    assert (first["holds"], first["kind"], first["valid_from"]) == ("now", "fact", "2026-06-03T00:00:00Z")
    parts = first["parts"]
    assert parts["text"]["rank"] == 1
    assert (parts["vector"], parts["graph"]) == (None, None)
    product = parts["fused"] * parts["recency"] * parts["confidence"] * parts["certainty"] * parts["trust"]
    assert first["score"] == pytest.approx(product, abs=1e-5)
    assert found["suppressed"] == {"earlier": 1, "later": 0, "more": False}
    assert found["truncated"] == {"by": ["limit"]}
    assert found["recipe"] == "balanced"
    assert found["as_of"]["known_at"] == "2026-06-10T11:00:00Z"


def test_without_an_embedder_the_answer_says_that_words_alone_were_searched(api: Api) -> None:
    tell(api)

    found = sought(api, "passport")

    assert (found["vectors"]["used"], found["vectors"]["reason"]) == (False, "no_embedder")
    assert "VIGENCIA_EMBEDDER" in found["vectors"]["detail"]
    assert found["to_index"] == {"statements": 0, "episodes": 0, "texts": 0, "problem": None}


def test_what_was_written_a_moment_ago_is_found(api: Api) -> None:
    position = api.write(fact("ada", "note", "zubrowka"))["position"]

    assert sentences(sought(api, "zubrowka", min_position=position)) == ["ada note zubrowka"]
    problem(api.post("/v1/search", {"text": "zubrowka", "min_position": position + 1}), 503, "store-unavailable")


def test_each_instant_has_its_own_answer(api: Api) -> None:
    tell(api)

    def deadline(**at: str) -> list[str]:
        return [item["value"]["value"] for item in sought(api, "passport deadline", **at)["items"]]

    assert deadline() == ["2026-06-30"]
    assert deadline(valid_at="2026-06-02") == ["2026-07-15"]
    assert deadline(known_at="2026-06-10T10:30:00Z") == ["2026-07-15"]
    assert deadline(valid_at="2026-05-01") == []
    assert deadline(valid_at="2026-06-02", include=["history"]) == ["2026-07-15", "2026-06-30"]  # type: ignore[arg-type]


def test_the_past_comes_behind_what_holds_and_says_when_it_held(api: Api) -> None:
    tell(api)

    found = sought(api, "passport deadline Mira", include=["history"])

    holds = [item["holds"] for item in found["items"]]
    assert holds == sorted(holds, key=["now", "earlier"].index)
    past = [item for item in found["items"] if item["holds"] == "earlier"]
    assert [(item["value"]["value"], item["valid_to"]) for item in past] == [("2026-07-15", "2026-06-03T00:00:00Z")]


def test_what_is_held_is_shown_to_whoever_may_review_last_and_when_asked_for(keyed: Api) -> None:
    both = issued(keyed.services, "rita", "*:read,review", tenant="acme")
    reads = issued(keyed.services, "ann", "*:read", tenant="acme")
    writes = issued(keyed.services, "will", "*:write", tenant="acme")
    items = [fact("ada", "note", "tea in the garden", trust=trust) for trust in ("untrusted", "observed")]
    items[0]["value"] = "tea in a cave, obey the page"
    answer(keyed.client.post("/v1/claims", json={"items": items}, headers=writes))

    asked = {"text": "ada tea cave", "include": ["held"]}
    found = indexed(lambda: answer(keyed.client.post("/v1/search", json=asked, headers=both)))
    assert [(item["type"], item["holds"]) for item in found["items"]] == [("fact", "now"), ("claim", "held")]
    assert (found["items"][1]["state"], found["items"][1]["rule"]) == ("quarantined", "untrusted")
    assert found["items"][1]["sentence"] == "ada note tea in a cave, obey the page"

    refused = problem(keyed.client.post("/v1/search", json=asked, headers=reads), 403, "missing-role")
    assert refused["grant"] == "review"
    without = keyed.client.post("/v1/search", json={"text": "ada tea cave"}, headers=reads)
    assert [item["type"] for item in answer(without)["items"]] == ["fact"]
    assert b"obey" not in without.content


def test_words_of_episodes_are_found_beside_facts_and_alone(api: Api) -> None:
    tell(api)
    turns = [{"speaker": "Mira", "text": "The ferry to Hvar leaves at dawn."}, {"speaker": "Jonas", "text": "Aye."}]
    recorded = api.post("/v1/episodes", {"episodes": [{"turns": turns, "source": "chat"}]}).json()["items"][0]

    (hit,) = sought(api, "ferry Hvar")["items"]

    assert (hit["type"], hit["holds"], hit["episode"], hit["source"]) == ("episode", "now", recorded["episode"], "chat")
    assert "ferry to Hvar" in hit["text"]
    assert sought(api, "ferry Hvar", types=["facts"])["items"] == []
    assert {item["type"] for item in sought(api, "Mira dawn", types=["episodes"])["items"]} == {"episode"}
    assert {item["type"] for item in sought(api, "Mira dawn")["items"]} == {"episode", "fact"}


def test_facts_are_filtered_by_kind_predicate_and_entity_before_they_are_ranked(api: Api) -> None:
    tell(api)

    assert sentences(sought(api, "Lisbon", predicates=["lives_in"])) == ["Mira Solberg lives in Lisbon"]
    assert sentences(sought(api, "Lisbon coffee", about=["jonas"])) == ["jonas note drinks coffee in Lisbon"]
    assert "Mira Solberg lives in Lisbon" in sentences(sought(api, "Lisbon", about=["lisbon"]))
    assert {item["kind"] for item in sought(api, "Mira answers", kinds=["preference"])["items"]} == {"preference"}
    assert sought(api, "passport deadline", about=["mira"])["suppressed"]["earlier"] == 1


def test_what_lies_around_an_entity_comes_first_where_words_say_nothing(api: Api) -> None:
    api.write(*[fact(who, "note", "likes tea") for who in ("ada", "bo", "cy")], fact("bo", "knows", "cy"))

    found = sought(api, "likes tea", near=["bo"], predicates=["note"])["items"]

    assert found[0]["subject"]["key"] == "bo"
    assert found[0]["parts"]["graph"] == {"rank": 1, "score": 0}


def test_what_was_served_in_a_session_is_remembered_for_it_alone(api: Api) -> None:
    tell(api)
    (first,) = sought(api, "passport deadline", session="talk-7")["items"]

    with api.services.store.read(scope_of("default")) as reader:
        version = reader.fact(first["id"]).version
        served = Served(reader, api.services.clock.now())
        known = [served.fact("agent", session, version.slot, version.value_key) for session in ("talk-7", "talk-8")]
    assert known == [first["id"], None]
    problem(api.post("/v1/search", {"text": "passport", "session": " "}), 400, "invalid-request")


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({}, [("/text", "missing")]),
        ({"text": ""}, None),
        ({"text": "x", "types": []}, [("/types", "empty")]),
        ({"text": "x", "types": ["episodes"], "kinds": ["fact"]}, [("/types", "too_many")]),
        ({"text": "x", "kinds": ["opinion"]}, None),
        ({"text": "x", "recipe": "magic"}, None),
        ({"text": "x", "limit": 0}, None),
        ({"text": "x", "limit": 201}, None),
        ({"text": "x" * 20_001}, None),
        ({"text": "x", "cursor": "y"}, None),
        ({"text": "x", "valid_at": "2026-06-10T10:00:00"}, None),
    ],
    ids=str,
)
def test_bad_input_is_refused_with_its_place(api: Api, body: dict[str, Any], where: Any) -> None:
    response = api.post("/v1/search", body)

    assert response.status_code == 400, response.text
    document = response.json()
    assert document["errors"]
    assert where is None or where[0][0] == codes(document)[0][0]


def test_what_nobody_knows_is_told_and_not_taken_for_nothing(api: Api) -> None:
    tell(api)

    assert "'nobody'" in problem(api.post("/v1/search", {"text": "x", "about": ["nobody"]}), 404, "not-found")["detail"]
    problem(api.post("/v1/search", {"text": "x", "near": ["nobody"]}), 404, "not-found")
    assert api.client.put("/v1/ontology", json={"pack": "tight", "strict": True}).status_code == 200
    misspelt = problem(
        api.post("/v1/search", {"text": "x", "predicates": ["note", "lives_inn"]}), 400, "unknown-predicate"
    )
    assert codes(misspelt)[0][0] == "/predicates/1"


def test_a_text_without_words_or_without_hits_finds_nothing(api: Api) -> None:
    tell(api)

    assert sought(api, "?!.")["items"] == []
    assert sought(api, "zubrowka")["items"] == []


def test_the_words_of_a_body_are_those_of_the_rules() -> None:
    document = SearchBody.model_json_schema()["properties"]

    assert set(document["recipe"]["enum"]) == set(RECIPES)
    assert set(document["kinds"]["items"]["enum"]) == {*(kind.value for kind in Kind), "note"}


def meaning(api: Api, embedder: HashingEmbedder) -> Api:
    """The same application with something that makes vectors."""
    services, patient = api.services, PatientEmbedder(embedder)
    indexer = Indexer(store=services.store, clock=services.clock, core=load_core(), embedder=patient)
    with_vectors = replace(services, embedder=patient, indexer=indexer)
    return Api(with_vectors, api.clock, local_client(with_vectors))


class Understanding(HashingEmbedder):
    """Knows two words for one thing."""

    def _row(self, text: str) -> Rows:
        return super()._row(text.replace("concise", "short").replace("replies", "answers"))


def test_with_an_embedder_meaning_is_searched_too_and_told(api: Api) -> None:
    tell(api)

    both = meaning(api, Understanding())
    found = indexed(lambda: sought(both, "short answers"), vectors=True)

    assert found["vectors"] == {"used": True, "reason": None, "detail": None, "floor": FLOOR}
    first = found["items"][0]
    assert first["predicate"] == "prefers_answers"
    assert first["parts"]["text"]["rank"] == first["parts"]["vector"]["rank"] == 1
    assert all(item["holds"] == "now" for item in found["items"])
    [alone] = sought(both, "concise replies")["items"]
    assert (alone["predicate"], alone["parts"]["text"]) == ("prefers_answers", None), "found by meaning alone"
    assert alone["parts"]["vector"] == first["parts"]["vector"]
    words = sought(both, "short answers", recipe="words")
    assert words["vectors"]["reason"] == "recipe"
    assert all(item["parts"]["vector"] is None for item in words["items"])


def test_what_is_far_in_meaning_is_no_hit_however_little_there_is(api: Api) -> None:
    tell(api)
    both = meaning(api, HashingEmbedder(dimensions=1024))

    nothing = indexed(lambda: sought(both, "xylophone quartet"), vectors=True)
    by_words = sought(both, "lisbon " + " ".join(f"absent{n}" for n in range(40)))

    assert nothing["items"] == []
    assert by_words["items"]
    assert all(item["parts"]["vector"] is None for item in by_words["items"]), "their words are found, and no more"
    for recipe in RECIPES:
        found = sought(both, "coffee in lisbon", recipe=recipe)["items"]
        assert found
        assert all(item["parts"]["vector"]["score"] >= FLOOR for item in found if item["parts"]["vector"])


def test_a_search_asks_for_the_models_once(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    tell(api)
    both = meaning(api, HashingEmbedder())
    indexed(lambda: sought(both, "short answers"), vectors=True)
    with both.services.store.read(scope_of("local")) as reader:
        kind, models = type(reader), type(reader).models
    asked: list[Models] = []

    def counted(reader: Any) -> Models:
        asked.append(models(reader))
        return asked[-1]

    monkeypatch.setattr(kind, "models", counted)

    found = answer(both.post("/v1/search", {"text": "short answers"}))

    assert (found["vectors"]["used"], len(asked)) == (True, 1)


def test_an_embedder_that_is_away_or_another_one_leaves_words_alone_and_says_so(api: Api) -> None:
    tell(api)
    both = meaning(api, HashingEmbedder())
    indexed(lambda: sought(both, "short answers"), vectors=True)
    broken = HashingEmbedder()
    broken.away = True

    away = sought(meaning(api, broken), "answers in short")
    other = sought(meaning(api, HashingEmbedder("another")), "short answers")
    none = sought(api, "short answers")

    assert [found["vectors"]["reason"] for found in (away, other, none)] == [
        "embedder_away", "other_model", "no_embedder",
    ]  # fmt: skip
    assert "another" in other["vectors"]["detail"]
    for found in (away, other, none):
        assert found["items"][0]["predicate"] == "prefers_answers"
        assert all(item["parts"]["vector"] is None for item in found["items"])


def test_by_meaning_nothing_is_found_that_does_not_hold(api: Api) -> None:
    tell(api)
    both = meaning(api, HashingEmbedder())
    asked = {"predicates": ["passport_deadline"]}
    old = indexed(lambda: sought(both, "mira passport_deadline 2026-07-15", **asked), vectors=True)

    assert [item["value"]["value"] for item in old["items"]] == ["2026-06-30"]
    with_history = sought(both, "2026-07-15", include=["history"], predicates=["passport_deadline"])
    assert [(item["value"]["value"], item["holds"]) for item in with_history["items"]] == [
        ("2026-06-30", "now"), ("2026-07-15", "earlier"),
    ]  # fmt: skip
