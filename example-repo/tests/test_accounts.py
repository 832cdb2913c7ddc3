"""The chart of accounts."""

import pytest

from ledgerline.accounts import Account, Chart, UnknownAccount


def test_opening_an_account_opens_those_above():
    """A savings account brings its parents along."""
    chart = Chart(["assets:bank:savings"])
    assert [account.name for account in chart] == ["assets", "assets:bank", "assets:bank:savings"]


def test_opening_twice_changes_nothing():
    """The same account is returned again."""
    chart = Chart(["assets:cash"])
    assert chart.open("assets:cash") is chart.find("assets:cash")
    assert len(chart) == 2


def test_unknown_kind():
    """The first part of a name must be a kind of account."""
    with pytest.raises(ValueError, match="first part"):
        Chart(["toys:train"])


def test_unknown_account():
    """An account that was not opened is named in the error."""
    with pytest.raises(UnknownAccount, match="assets:cash"):
        Chart().find("assets:cash")


def test_below_does_not_mix_up_similar_names():
    """`assets:bank` does not hold `assets:bankers-box`."""
    chart = Chart(["assets:bank:savings", "assets:bankers-box"])
    assert [account.name for account in chart.below("assets:bank")] == ["assets:bank", "assets:bank:savings"]


def test_kind_parent_and_depth():
    """An account knows its place in the tree."""
    account = Account("expenses:office:paper")
    assert (account.kind, account.parent, account.depth) == ("expenses", "expenses:office", 2)
    assert Account("income").parent is None


@pytest.mark.parametrize(
    ("name", "by_debit"), [("assets", True), ("expenses:rent", True), ("income", False), ("liabilities:loan", False)]
)
def test_ordinary_side(name, by_debit):
    """Assets and expenses grow by debit."""
    assert Account(name).grows_by_debit is by_debit
    assert "assets" in Chart(["assets"])
