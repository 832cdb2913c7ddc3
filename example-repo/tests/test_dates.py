"""Working days and due dates; 2 March 2026 is a Monday."""

from datetime import date

import pytest

from ledgerline.dates import (
    add_working_days,
    days_late,
    due_date,
    is_working_day,
    last_day_of_month,
    month_starts,
    next_working_day,
    quarter,
)

MONDAY, FRIDAY, SATURDAY, SUNDAY = date(2026, 3, 2), date(2026, 3, 6), date(2026, 3, 7), date(2026, 3, 8)
NEXT_MONDAY = date(2026, 3, 9)


def test_offices_are_open_on_weekdays():
    """Monday and Friday are working days, Sunday is none."""
    assert is_working_day(MONDAY)
    assert is_working_day(FRIDAY)
    assert not is_working_day(SUNDAY)


def test_offices_are_closed_on_saturday():
    """Saturday belongs to the weekend."""
    assert not is_working_day(SATURDAY)


def test_holidays_are_no_working_days():
    """A holiday in the week is skipped like a weekend."""
    assert not is_working_day(MONDAY, frozenset({MONDAY}))
    assert next_working_day(MONDAY, frozenset({MONDAY})) == date(2026, 3, 3)


def test_next_working_day_after_a_weekend():
    """A Saturday moves on to Monday, a working day stays."""
    assert next_working_day(SATURDAY) == NEXT_MONDAY
    assert next_working_day(FRIDAY) == FRIDAY


def test_add_working_days():
    """Counting goes over the weekend; no days leave the day alone."""
    assert add_working_days(FRIDAY, 1) == NEXT_MONDAY
    assert add_working_days(MONDAY, 0) == MONDAY


def test_due_date_on_a_sunday_moves_on():
    """Six days after a Monday is a Sunday, so it is due the day after."""
    assert due_date(MONDAY, 6) == NEXT_MONDAY


def test_days_late():
    """On the due day nothing is late, and never less than nothing."""
    assert days_late(MONDAY, MONDAY) == 0
    assert days_late(MONDAY, FRIDAY) == 4
    assert days_late(FRIDAY, MONDAY) == 0


@pytest.mark.parametrize(("month", "expected"), [(1, 1), (3, 1), (4, 2), (6, 2), (7, 3), (9, 3), (10, 4), (12, 4)])
def test_quarter(month, expected):
    """Each quarter has three months."""
    assert quarter(date(2026, month, 15)) == expected


@pytest.mark.parametrize(
    ("day", "last"),
    [(date(2026, 2, 3), date(2026, 2, 28)), (date(2024, 2, 3), date(2024, 2, 29)), (date(2026, 12, 1), date(2026, 12, 31))],
)
def test_last_day_of_month(day, last):
    """Leap years and the turn of the year are known."""
    assert last_day_of_month(day) == last


def test_month_starts_over_new_year():
    """Months are counted across the turn of the year, the last one included."""
    starts = list(month_starts(date(2025, 11, 20), date(2026, 1, 1)))
    assert starts == [date(2025, 11, 1), date(2025, 12, 1), date(2026, 1, 1)]
