"""Something to do beside a question that waits for it only so long: what is not done in time goes on, unwaited for."""

import threading
from collections.abc import Callable
from typing import Final, Generic, TypeVar

T = TypeVar("T")

AT_ONCE: Final = 8


class Late(Exception):
    """It is not done yet, or was not begun, since as many others are not done."""


class _Done(Generic[T]):
    def __init__(self) -> None:
        self.over = threading.Event()
        self.given: list[T] = []
        self.raised: BaseException | None = None


class Aside:
    """Runs work in threads of its own, `AT_ONCE` at the most, that hold no process open which wants to end."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._free = threading.BoundedSemaphore(AT_ONCE)

    def run(self, work: Callable[[], T], seconds: float) -> T:
        """What `work` gives, or raises. Raises `Late` where that takes longer."""
        if not self._free.acquire(blocking=False):
            raise Late
        done: _Done[T] = _Done()
        threading.Thread(target=self._do, args=(work, done), name=self._name, daemon=True).start()
        if not done.over.wait(seconds):
            raise Late
        if done.raised is not None:
            raise done.raised
        return done.given[0]

    def _do(self, work: Callable[[], T], done: _Done[T]) -> None:
        try:
            done.given.append(work())
        except BaseException as exc:  # raised where it is waited for
            done.raised = exc
        finally:
            self._free.release()
            done.over.set()
