"""The breaker: when it opens, whom it lets through, and how it closes (decision 117)."""

from __future__ import annotations

from providers.breaker import FAILURES, FIRST_PAUSE, LONGEST_PAUSE, TRIAL_SECONDS, Breaker


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def opened() -> tuple[Breaker, Clock]:
    clock = Clock()
    breaker = Breaker("Canary", clock)
    for _ in range(FAILURES):
        assert breaker.lets_through()
        breaker.failed()
    return breaker, clock


def test_failures_in_a_row_open_it() -> None:
    breaker, _ = opened()
    assert breaker.is_open
    assert not breaker.lets_through()


def test_an_answer_in_between_keeps_it_closed() -> None:
    breaker = Breaker("Canary", Clock())
    for _ in range(3):
        for _ in range(FAILURES - 1):
            breaker.failed()
        breaker.succeeded()
    assert not breaker.is_open
    assert breaker.lets_through()


def test_one_trial_after_the_pause_and_none_beside_it() -> None:
    breaker, clock = opened()
    clock.now += FIRST_PAUSE - 0.001
    assert not breaker.lets_through()
    clock.now += 0.001
    assert [breaker.lets_through() for _ in range(3)] == [True, False, False]
    clock.now += TRIAL_SECONDS - 0.001
    assert not breaker.lets_through()
    clock.now += 0.001
    assert [breaker.lets_through() for _ in range(2)] == [True, False]
    breaker.succeeded()
    assert [breaker.lets_through() for _ in range(3)] == [True, True, True]
    breaker.failed()
    assert not breaker.is_open  # it counts from the beginning


def test_pauses_double_with_each_failed_trial_up_to_a_limit() -> None:
    breaker, clock = opened()
    pauses = []
    for _ in range(8):
        began = clock.now
        while not breaker.lets_through():
            clock.now += 0.5
        pauses.append(clock.now - began)
        breaker.failed()
    assert pauses == [1, 2, 4, 8, 16, LONGEST_PAUSE, LONGEST_PAUSE, LONGEST_PAUSE]


def test_calls_that_were_under_way_when_it_opened_do_not_lengthen_the_pause() -> None:
    breaker, clock = opened()
    for _ in range(20):
        breaker.failed()
    clock.now += FIRST_PAUSE
    assert breaker.lets_through()
