"""What is a transcript, and what only looks a little like one."""

import orjson
import pytest

from consolidation.conclusions import BYTES_MAX, CHARS_MAX, refuse_bulk, refuse_transcript, refuse_turn
from ontology.errors import Refused

TRANSCRIPTS = {
    "a user and an assistant": "User: book a room\nAssistant: which one?",
    "in one line each, with times": "[09:00] Human: hello\n[09:01] AI: hello, how can I help?",
    "with bold names": "**User**: hi\n**Assistant:** hi",
    "quoted": "> user: hi\n> bot: hi",
    "names that come back": "Mira: hi\nJonas: hi\nMira: how are you?\nJonas: well",
    "with dates": "2026-06-01 09:00 Mira: hi\n2026-06-01 09:01 Bo: hi\n2026-06-01 Mira: ok\n2026-06-01 Bo: ok",
    "of another script": "美咲：はい\n太郎：いいえ\n美咲：なぜ\n太郎：さあ",
    "as JSON": orjson.dumps([{"role": "user", "content": "hi"}]).decode(),
    "as JSON below a member": orjson.dumps({"messages": [{"role": "user", "content": "hi"}]}).decode(),
    "as lines of JSON": '{"role": "user", "content": "hi"}\n{"role": "assistant", "content": "yes"}',
    "as JSON in a fence": '```json\n[{"role": "user", "content": "hi"}]\n```',
    "as JSON after words": 'What was said: [{"role": "user", "content": "hi"}]',
    "as JSON in JSON": orjson.dumps('[{"role": "user", "content": "hi"}]').decode(),
    "as Python": "{'role': 'user', 'content': 'hi'}",
    "with words in lines of their own": "User:\nhi\nAssistant:\nyes",
    "with carriage returns": "User: hi\rAssistant: yes",
    "with separators of lines": "User: hi\u2028Assistant: yes",
    "as one message of JSON": ' {"speaker": "Mira", "text": "hi"}',
    "as questions and answers": "**Q:** which room?\n**A:** 12\n**Q:** why?\n**A:** it is quiet",
    "below headings": "### Human\nbook a room\n### Assistant\nwhich one?\n### Human\nthe quiet one",
    "below quoted names": "> human\nhi\n> assistant\nhello\n> human\nbook it",
    "below bold names": "**User**\nhi\n**Assistant**\nhello\n**User**\nbook it",
    "in the template of a model": "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nhello<|im_end|>",
    "in another template": "[INST] book a room [/INST] which one?",
    "in a template of headers": "<|start_header_id|>user<|end_header_id|>\nhi\n<|start_header_id|>assistant",
    "in a template of turns": "<start_of_turn>user\nhi<end_of_turn>\n<start_of_turn>model\nhello",
    "in one line": "User: hi Assistant: hello User: book it",
    "in one line with bold names": "**User:** hi **Assistant:** hello **User:** book it",
    "of a channel": "09:00 <mira> hi\n09:01 <bo> hi\n09:02 <mira> the room?\n09:02 <bo> 12",
    "of a board": "Mira 09:00\nhi\nBo 09:01\nhi\nMira 09:02\nthe room?\nBo 9:03 AM\n12",
    "in German": "Benutzer: hallo\nAssistent: guten Tag",
    "in Spanish": "Usuario: hola\nAsistente: buenos días",
    "in Russian": "Пользователь: привет\nАссистент: здравствуйте",
    "in Chinese": "用户：你好\n助手：您好",
}
CONCLUSIONS = {
    "one label": "Note: the room must face the yard.",
    "labels that stand once": "Room: 12\nPrice: 140 EUR\nDate: 2026-06-02\nGuest: Mira",
    "a role that has to do something": "User: must be an administrator.\nTool: the booking desk",
    "a list with one label again": "Option: A\nOption: B\nOption: C",
    "times and addresses": "Arrive at 09:30. See https://example.org/a: it has the plan.",
    "JSON that is no turn": '{"role": "admin", "room": 12}',
    "broken JSON": "[see the plan",
    "a shape of JSON": 'Answer as {"guest": "…", "text": "…"}, one line for each role.',
    "a plan with times": "Breakfast 08:00\nLunch 12:00\nBreakfast 09:00\nLunch 13:00",
    "a plan with times first": "09:00 arrive\n09:30 breakfast\n12:00 the tour",
    "headings with text": "### Rooms\nTwelve is quiet.\n### Prices\n140 EUR at most.\n### Dates\nJune.",
    "the roles of a system": "User\nAgent\nCustomer\nBot",
    "roles with what they may do": "### User\nmay read\n### Agent\nmay write",
    "a template that is talked of": "The prompt must not hold [INST] or <|im_start|>; both are cut out.",
    "a quotation": 'Mira said: "a quiet room, please", and nothing else counts.',
    "a quoted line": "> The lift is out of order until 9 June.\nSo take room 3.",
    "names with a colon once": "Mira: vegetarian\nJonas: no nuts\nBo: eats all",
    "tags": "<b>Room 12</b> is the best.\n<b>Room 3</b> is next.\n<i>Room 4</i> is loud.\n<i>Room 5</i> too.",
    "comparisons": "price < 140 and nights > 2\nrooms > 3\nbeds > 2",
    "addresses of people": "Mira Lind <mira@example.org>\nBo Ek <bo@example.org>",
    "placeholders": "Call it as book <room> <night>.\n<room> is a number.\n<night> is a date.",
    "JSON with names": '{"guest": "Mira Lind", "nights": 2, "from": "2026-06-02"}',
    "a list of JSON": '[{"room": 12, "price": 140}, {"room": 3, "price": 90}]',
    "one question that is open": "Q: may the dog come?\nA: not known; ask the hotel.",
    "ratios and scores": "3:1 for room 12\n2:2 for room 3\nRatio: 3:1",
    "a path": "C: is full; D: has 20 GB.",
    "bold labels": "**Room** 12\n**Price** 140 EUR\n**Guest** Mira",
    "a decision of two": "User: wants quiet. Agent: to book it by 09:00.".replace("User", "Guest"),
    "prose about a talk": "The user asked for a quiet room; the assistant offered two, and both were refused.",
}


@pytest.mark.parametrize("text", TRANSCRIPTS.values(), ids=TRANSCRIPTS)
def test_a_transcript_is_refused_in_one_text_and_in_the_lines_of_a_member(text: str) -> None:
    for texts in ([text], text.split("\n")):
        with pytest.raises(Refused) as refused:
            refuse_transcript(texts, "/requirements")
        assert [(v.pointer, v.code) for v in refused.value.violations] == [("/requirements", "transcript")]
        assert "episode" in refused.value.remedy


@pytest.mark.parametrize("text", CONCLUSIONS.values(), ids=CONCLUSIONS)
def test_a_conclusion_is_not_refused(text: str) -> None:
    refuse_transcript([text], "/task")
    refuse_transcript(text.split("\n"), "/requirements")


@pytest.mark.parametrize(
    "given",
    [
        {"role": "user", "content": "x"}, {"speaker": "a", "text": ""}, [{"author": "a", "message": "x"}],
        {"turns": [{"from": "a", "text": "x"}]},
    ],
    ids=str,
)  # fmt: skip
def test_turns_of_json_are_refused(given: object) -> None:
    with pytest.raises(Refused, match="turn"):
        refuse_turn(given, "/task")


@pytest.mark.parametrize("given", ["text", 4, None, {"role": "user"}, {"text": "x"}, [], [1], {"a": ["b"]}], ids=str)
def test_what_is_no_turn_is_left_to_others(given: object) -> None:
    refuse_turn(given, "/task")


def test_what_is_too_long_is_no_conclusion() -> None:
    refuse_transcript(["x" * CHARS_MAX], "/task")
    with pytest.raises(Refused, match=f"{CHARS_MAX + 1} characters"):
        refuse_transcript(["x" * (CHARS_MAX + 1)], "/task")
    refuse_bulk(["é" * (BYTES_MAX // 2)])
    with pytest.raises(Refused, match="bytes"):
        refuse_bulk(["é" * (BYTES_MAX // 2), "x"])


def test_a_long_line_that_is_nearly_a_turn_is_read_in_time() -> None:
    refuse_transcript([("a " * 499) + "x", "[" * 999, "- " * 499, "1" * 999], "/task")
