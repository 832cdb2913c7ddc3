"""The archive; two of these tests need its gateway and its driver."""

from archive import document_path, driver_version, gateway_greeting


def test_document_path():
    """Invoices are kept by year."""
    assert document_path("2026-014") == "2026/2026-014.pdf"


def test_gateway_greets():
    """The gateway says who it is."""
    assert gateway_greeting().startswith("archive")


def test_driver():
    """The driver is at least version 2."""
    assert int(driver_version().split(".")[0]) >= 2
