"""How commands write long files, and tell meanwhile how far they are."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from api.commands.progress import Progress

STREAM: Final = "-"


@contextmanager
def counted(kind: str, quiet: bool, phase: str) -> Iterator[tuple[Progress, Callable[[int], None]]]:
    """A progress that counts up to what it is told is done."""
    with Progress("none" if quiet else kind) as bar:
        bar.phase(phase, None)
        done = 0

        def told(so_far: int) -> None:
            nonlocal done
            bar.advance(so_far - done, {})
            done = so_far

        yield bar, told


def next_phase(bar: Progress, phase: str) -> Callable[[int], None]:
    """The same of a phase that begins when it is first told something."""
    done = -1

    def told(so_far: int) -> None:
        nonlocal done
        if done < 0:
            bar.phase(phase, None)
            done = 0
        bar.advance(so_far - done, {})
        done = so_far

    return told


@contextmanager
def written(file: str) -> Iterator[BinaryIO]:
    """A stream to write to; a file gets its name when all of it is there."""
    if file == STREAM:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    from ontology.errors import Incorrect, shown

    path = Path(file)
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    except OSError as exc:
        raise Incorrect(f"the file {shown(file)} cannot be written: {exc.strerror}") from exc
    finally:
        part.unlink(missing_ok=True)
