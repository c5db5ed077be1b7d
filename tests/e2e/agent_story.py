"""What an agent does in a day, over whichever wire: it learns, is corrected, asks about the past and forgets."""

from typing import Any, Final

from tests.e2e.agents import Agent

SUBJECT: Final = "mira"
PREDICATE: Final = "passport_deadline"


def learn(agent: Agent, value: str, since: str, **said: Any) -> Any:
    """The receipt of one claim."""
    item = {"subject": SUBJECT, "predicate": PREDICATE, "value": value, "valid_from": since} | said
    return agent.told("remember", items=[item])["receipt"]["items"][0]


def tell_the_story(agent: Agent) -> None:
    """Remember, recall as of, correct, why, forget; each with the answer that it must have."""
    assert learn(agent, "2026-07-15", "2026-01-01", source="mira")["result"] == "created"
    changed = agent.told(
        "remember",
        text="My passport must be renewed by 30 June.",
        observed_at="2026-06-03T10:00:00Z",
        items=[{"subject": SUBJECT, "predicate": PREDICATE, "value": "2026-06-30", "valid_from": "2026-06-03"}],
    )
    episode = changed["recorded"]["items"][0]["episode"]
    assert episode.startswith("epi_")

    asked: dict[str, Any] = {"subject": SUBJECT, "predicate": PREDICATE}
    now = agent.told("state", **asked)
    before = agent.told("state", **asked, valid_at="2026-06-02")
    assert [item["value"]["value"] for item in (*now["items"], *before["items"])] == ["2026-06-30", "2026-07-15"]
    assert [i["value"]["value"] for i in agent.told("history", **asked)["items"]] == ["2026-07-15", "2026-06-30"]

    for _ in range(20):  # a store that was asked nothing yet may need more time than a question has
        packet = agent.told("recall", question="When must mira renew, on 2 June 2026?", milliseconds=5_000)
        if packet["truncated"] is None:
            break
    assert [line["fact"]["value"]["value"] for line in packet["lines"]] == ["2026-07-15"], packet

    found = agent.told("search", text="passport deadline")
    assert "2026-06-30" in [hit["value"]["value"] for hit in found["items"] if hit["type"] == "fact"]

    why = agent.call("why", fact=now["items"][0]["id"])
    assert [link.uri for link in why.content[1:] if link.type == "resource_link"] == [
        f"vigencia://default/general/episodes/{episode}"
    ]
    assert (
        agent.read(f"vigencia://default/general/episodes/{episode}")["text"]
        == "My passport must be renewed by 30 June."
    )

    fact, known = now["items"][0], now["as_of"]["known_at"]
    stale = agent.refused(
        "correct", "version-changed", fact=fact["id"], if_version=fact["version"] + 1, value="2026-06-29"
    )
    assert stale["current"]
    agent.told("correct", fact=fact["id"], if_version=fact["version"], value="2026-06-29", reason="misread")
    assert agent.values(**asked) == ["2026-06-29"]
    assert agent.values(**asked, known_at=known) == ["2026-06-30"]

    learnt = agent.told("diff", **asked, known_from=known)
    assert [side[0]["value"]["value"] for side in (learnt["removed"], learnt["added"])] == ["2026-06-30", "2026-06-29"]
    changes = agent.told("diff", **asked, valid_after="2026-06-01")
    assert [[each["value"]["value"] for each in change["started"]] for change in changes["items"]] == [["2026-06-29"]]

    held = agent.told("state", **asked)["items"][0]["id"]
    made = agent.told("handoff", task="Renew the passport.", facts=[held], rejected=[{"what": "by post"}])
    read = agent.told("handoff", action="read", id=made["id"])
    assert [each["fact"]["value"]["value"] for each in read["facts"]] == ["2026-06-29"]
    assert agent.read(f"vigencia://default/general/handoffs/{made['id']}")["task"] == "Renew the passport."

    preview = agent.told("forget", subject=SUBJECT)
    assert preview["state"] == "preview"
    assert agent.values(**asked) == ["2026-06-29"]
    agent.refused("forget", "version-changed", subject=SUBJECT, confirm="0" * 64)
    assert agent.told("forget", subject=SUBJECT, confirm=preview["manifest"])["state"] == "forgotten"
    agent.refused("state", "forgotten", subject=SUBJECT)
