"""Working days, due dates and accounting periods."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta


def is_working_day(day: date, holidays: frozenset[date] = frozenset()) -> bool:
    """Whether offices are open: Monday to Friday, holidays excepted."""
    return day.weekday() <= 5 and day not in holidays


def next_working_day(day: date, holidays: frozenset[date] = frozenset()) -> date:
    """Return ``day`` itself where offices are open, otherwise the first day after it when they are."""
    while not is_working_day(day, holidays):
        day += timedelta(days=1)
    return day


def add_working_days(day: date, count: int, holidays: frozenset[date] = frozenset()) -> date:
    """Return the working day that lies ``count`` working days after ``day``."""
    for _ in range(count):
        day = next_working_day(day + timedelta(days=1), holidays)
    return day


def due_date(issued: date, terms: int, holidays: frozenset[date] = frozenset()) -> date:
    """Return when an invoice must be paid: ``terms`` calendar days later, moved on to a working day."""
    return next_working_day(issued + timedelta(days=terms), holidays)


def days_late(due: date, today: date) -> int:
    """Return the days since the due date; none before it and on it."""
    return max(0, (today - due).days)


def quarter(day: date) -> int:
    """Return the quarter of the year, 1 to 4."""
    return (day.month - 1) // 3 + 1


def last_day_of_month(day: date) -> date:
    """Return the last day of the month in which ``day`` lies."""
    following = date(day.year + day.month // 12, day.month % 12 + 1, 1)
    return following - timedelta(days=1)


def month_starts(first: date, last: date) -> Iterator[date]:
    """Yield the first day of each month from that of ``first`` to that of ``last``."""
    day = first.replace(day=1)
    while day <= last:
        yield day
        day = last_day_of_month(day) + timedelta(days=1)
