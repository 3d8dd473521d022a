"""Samples of long suites: `./dev test --all`, which sets LANNER_ALL_CASES, takes all of their cases."""

import os

ALL = bool(os.environ.get("LANNER_ALL_CASES"))


def sampled(cases, every, first=0):
    """Every so many of the cases, from the first one of the sample on, or all of them."""
    return list(cases) if ALL else list(cases)[first::every]
