"""Which embedder the settings name."""

from api.settings import EMBEDDERS, Settings
from graph.embedding import PatientEmbedder
from ontology.errors import Incorrect

_LOCAL = EMBEDDERS[0]


def embedder_of(settings: Settings) -> PatientEmbedder | None:
    """The embedder of the settings, if they name one; nothing is loaded or asked yet.

    Raises `Incorrect` where they name a server and not where it is.
    """
    if settings.embedder is None:
        return None
    kind, _, model = settings.embedder.partition(":")
    if kind == _LOCAL:
        from graph.local_embedder import SentenceTransformersEmbedder

        return PatientEmbedder(SentenceTransformersEmbedder(model))
    if settings.embedder_url is None:
        raise Incorrect(
            f"VIGENCIA_EMBEDDER is {settings.embedder!r}, and VIGENCIA_EMBEDDER_URL does not say where its server is",
            remedy="set it to what comes before /embeddings, such as http://127.0.0.1:11434/v1",
        )
    from graph.http_embedder import HttpEmbedder  # it takes a while to load

    key = settings.embedder_key
    return PatientEmbedder(
        HttpEmbedder(
            model, url=settings.embedder_url, key=None if key is None else key.get_secret_value(),
            seconds=settings.embedder_seconds, batch=settings.embedder_batch,
            text_prefix=settings.embedder_text_prefix, question_prefix=settings.embedder_question_prefix,
        )
    )  # fmt: skip
