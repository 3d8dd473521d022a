"""How long decoders take to begin, and waiting until several have begun."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from lanner.compat.PyNvVideoCodec.arguments import integer
from lanner.compat.PyNvVideoCodec.errors import PyNvVCException

T = TypeVar("T")
PATIENCE = 60.0  # seconds


class Sessions:
    """Decoders that begin side by side: with a count, those that wait for warm-up wait until so many have begun."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._count = self._begun = 0

    def set_count(self, count: int) -> None:
        number = integer("SetSessionCount", count, 0)
        with self._changed:
            self._count, self._begun = number, 0
            self._changed.notify_all()

    def begin(self, make: Callable[[], T], wait: bool) -> tuple[T, int]:
        """What `make` makes, and the milliseconds that it took."""
        start = time.perf_counter()
        made = make()
        milliseconds = round(1000 * (time.perf_counter() - start))
        with self._changed:
            self._begun += 1
            self._changed.notify_all()
            if wait and not self._changed.wait_for(lambda: self._begun >= self._count, PATIENCE):
                raise PyNvVCException(
                    f"bWaitForSessionWarmUp: {self._begun} of {self._count} sessions have begun after {PATIENCE:g} s; set the count to what is started"
                )
        return made, milliseconds


SESSIONS = Sessions()
