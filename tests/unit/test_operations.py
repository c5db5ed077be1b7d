"""Which readings wait for each other."""

from ontology.ids import EpisodeId
from ontology.operations import Job, lane_of
from ontology.scope import Scope, scope_of

HERE = scope_of("default")


def job(session: str | None, *, scope: Scope = HERE, number: int = 1) -> Job:
    return Job(episode=EpisodeId(f"eps_abcdefgh_{number}_0"), scope=scope, session=session, principal="agent")


def test_readings_of_one_session_wait_for_each_other_and_for_nobody_else() -> None:
    elsewhere = scope_of("default", namespace="sales")
    lanes = [lane_of(job("s")), lane_of(job("t")), lane_of(job("s", scope=elsewhere)), lane_of(job(None)),
             lane_of(job(None, number=2))]  # fmt: skip
    assert len(set(lanes)) == len(lanes)
    assert lane_of(job("s", number=2)) == lanes[0]


def test_a_lane_has_no_word_of_the_name_of_its_session() -> None:
    """It stays when the words of the episode are destroyed."""
    assert "mira" not in lane_of(job("mira and the bank"))
