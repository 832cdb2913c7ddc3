"""Values to JSON and back, by cattrs: the frozen dataclasses of the domain, bytes as base64, enums by value."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")


@functools.cache
def _converter() -> Any:
    from cattrs.preconf.json import make_converter

    return make_converter()


def encode(value: object) -> Any:
    """Return the value as JSON primitives."""
    return _converter().unstructure(value)


def decode(kind: type[T], data: Mapping[str, Any]) -> T:
    """Return the value that :func:`encode` made primitives of; unknown keys are ignored.

    :raises ValueError: where the data does not have the form.
    """
    from cattrs import ClassValidationError, transform_error

    try:
        return _converter().structure(data, kind)  # type: ignore[no-any-return]
    except ClassValidationError as error:
        raise ValueError("; ".join(transform_error(error))) from error
