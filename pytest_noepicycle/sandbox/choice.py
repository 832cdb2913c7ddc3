"""Which sandbox a run gets, and why."""

from __future__ import annotations

import os
from typing import Protocol

from pytest_noepicycle.domain.session import Session
from pytest_noepicycle.domain.settings import Settings
from pytest_noepicycle.errors import SandboxError
from pytest_noepicycle.ports import Sandbox
from pytest_noepicycle.sandbox.docker import DockerSandbox


class GuardedSandbox(Sandbox, Protocol):
    """A sandbox that knows how far it can be trusted."""

    @property
    def confined(self) -> bool:
        """Whether nothing outside the box can be written."""
        ...

    @property
    def services(self) -> tuple[str, ...]:
        """The addresses on this machine's loopback that the tests can reach, where they cannot reach others."""
        ...

    @property
    def runs_model_code(self) -> bool:
        """Whether code that a model wrote may run in it."""
        ...


def choose(kind: str, session: Session, settings: Settings) -> GuardedSandbox:
    """Return the sandbox for ``auto``, ``docker`` or ``process``.

    :raises EngineUnavailable: where Docker was asked for and does not answer.
    :raises SandboxError: where ``auto`` finds nothing that keeps the tests' writes in.
    """
    docker = DockerSandbox(session, settings)
    if kind == "docker":
        docker.require_engine()
        return docker
    if kind == "process":
        return _process(session, settings, by_name=True)
    obstacle = docker.obstacle()
    if obstacle is None:
        return docker
    process = _process(session, settings, because=f"Docker is not used: {obstacle}")
    if not process.confined:
        raise SandboxError(
            f"No sandbox can be had here. Docker: {obstacle}. {process.limits_note}",
            hint="Start Docker; or, where you trust the tests and every candidate, choose --noepi-sandbox process.",
        )
    return process


def _process(session: Session, settings: Settings, *, by_name: bool = False, because: str = "") -> GuardedSandbox:
    if os.name != "posix":
        raise SandboxError(f"The process sandbox needs Linux or macOS. {because}".strip())
    from pytest_noepicycle.sandbox.process import ProcessSandbox  # not importable on Windows

    return ProcessSandbox(session, settings, by_name=by_name, because=because)
