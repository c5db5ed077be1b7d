"""`vigencia audit live`: what is stored and should be asked of a tool, or of somebody, again."""

from pathlib import Path

from tests.e2e.command_line import CommandLine

PACK = """
pack: gates
predicates:
  queue: {volatility: live, tool: "mcp:gates/queue"}
  role: {review_days: 1}
"""


def test_live_data_and_what_is_due_for_review_are_listed_page_by_page(tmp_path: Path) -> None:
    vigencia = CommandLine(tmp_path)
    vigencia("remember", "gate-0", "queue", "12", "--valid-from", "2020-01-01")
    vigencia("remember", "gate-1", "queue", "13", "--valid-from", "2020-01-01")
    vigencia("remember", "ann", "role", "nurse", "--valid-from", "2020-01-01")
    assert vigencia("audit", "live").rows == []
    (tmp_path / "gates.yaml").write_text(PACK)
    assert vigencia("init", "--pack", "gates.yaml").code == 0

    listed = vigencia("audit", "live")
    assert [row[:4] for row in listed.rows] == [
        ["live: ask mcp:gates/queue", "gate-0", "queue", "12"],
        ["live: ask mcp:gates/queue", "gate-1", "queue", "13"],
    ]
    first = vigencia("audit", "live", "--limit", "1", "--json").document
    rest = vigencia("audit", "live", "--after", first["next_after"], "--json").document
    assert [each["fact"]["value"]["value"] for each in rest["items"]] == ["13"]
    assert (rest["next_after"], rest["items"][0]["tool"]) == (None, "mcp:gates/queue")
    assert vigencia("audit", "live", "--namespace", "other").rows == []
    assert vigencia("audit", "live", "--after", "fct_aaaaaaaa_1_0").code == 3
    assert "ask mcp:gates/queue" in vigencia("state", "gate-0", "queue").err
    assert "ask mcp:gates/queue" in vigencia("why", "gate-0", "queue").err
