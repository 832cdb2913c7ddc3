"""Plain double-entry bookkeeping for a small business."""

from ledgerline.accounts import Account, Chart
from ledgerline.invoices import Invoice, Line
from ledgerline.journal import Entry, Journal, Posting
from ledgerline.money import format_amount, parse_amount, split

__all__ = [
    "Account",
    "Chart",
    "Entry",
    "Invoice",
    "Journal",
    "Line",
    "Posting",
    "format_amount",
    "parse_amount",
    "split",
]
