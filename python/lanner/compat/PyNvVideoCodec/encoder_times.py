"""Times of pictures, which come without any."""

from fractions import Fraction


class Times:
    """Each picture is shown a frame after the one before, by the rate that holds then; counted in frames of the first rate.

    The encoder counts in whole ones: a picture between two is told to it at the nearest that is later than the last, and the times of packets are put back.
    """

    def __init__(self) -> None:
        self._ticks: list[int] = []
        self._times: list[Fraction] = []

    def next(self, frame: Fraction) -> tuple[int, Fraction]:
        """The encoder's tick of the next picture, and its time. frame: how much later it is than the last one."""
        if not self._ticks:
            return 0, Fraction(0)
        time = self._times[-1] + frame
        return max(round(time), self._ticks[-1] + 1), time

    def take(self, tick: int, time: Fraction) -> None:
        """A picture was sent there."""
        self._ticks.append(tick)
        self._times.append(time)

    def of(self, tick: int | None) -> int | Fraction | None:
        """The time of a packet, whose decoding time may be between or before the pictures."""
        if tick is None:
            return None
        if not self._ticks:
            return tick
        behind = next((number for number, one in enumerate(self._ticks) if one > tick), len(self._ticks))
        if behind == 0:
            return _plain(self._times[0] - (self._ticks[0] - tick))
        first, time = self._ticks[behind - 1], self._times[behind - 1]
        if tick == first or behind == len(self._ticks):
            return _plain(time + (tick - first))
        return _plain(time + (tick - first) * (self._times[behind] - time) / (self._ticks[behind] - first))

    def forget(self, tick: int | None) -> None:
        """What lies before this decoding time is not asked for again."""
        while tick is not None and len(self._ticks) > 1 and self._ticks[1] <= tick:
            del self._ticks[0], self._times[0]


def _plain(time: Fraction) -> int | Fraction:
    return time.numerator if time.denominator == 1 else time
