"""Invoices in the archive, an Oracle database behind a gateway on this machine."""

from __future__ import annotations

import socket

GATEWAY = ("127.0.0.1", 1)


def gateway_greeting(timeout: float = 2.0) -> str:
    """Return the line with which the gateway greets."""
    with socket.create_connection(GATEWAY, timeout=timeout) as connection:
        return connection.makefile().readline().strip()


def driver_version() -> str:
    """Return the version of the database driver."""
    import oracledb

    return oracledb.__version__


def document_path(number: str) -> str:
    """Return where the archive keeps an invoice, for example ``2026/2026-014.pdf``."""
    return f"{number.split('-')[0]}/{number}.pdf"
