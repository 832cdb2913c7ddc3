"""The docker sandbox: a fresh container for each box, which sees the host's environment and little else."""

from __future__ import annotations

import json
import os
import secrets
import tempfile
import time
import traceback
import uuid
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_noepicycle.domain.session import Session
from pytest_noepicycle.domain.settings import Settings
from pytest_noepicycle.errors import EngineUnavailable, SandboxError
from pytest_noepicycle.ports import Box, Snapshot
from pytest_noepicycle.sandbox import skeleton
from pytest_noepicycle.sandbox.attached import AttachedChannel
from pytest_noepicycle.sandbox.container import INSIDE_AT, bind, boot_command, host_config, inside_tar
from pytest_noepicycle.sandbox.door import Door
from pytest_noepicycle.sandbox.mirror import Mirror, reflect, unreadable, within
from pytest_noepicycle.sandbox.services import Services
from pytest_noepicycle.sandbox.surroundings import FOLDER_LISTS, MIB, Space, environment, scratch_place, setup
from pytest_noepicycle.sandbox.wire import ChannelClosed, start

DOOR_AT = f"{INSIDE_AT}.door"
REPOSITORY = "pytest-noepicycle-mirror"
LABEL = "pytest-noepicycle"
ANSWER_SECONDS = 3
CALL_SECONDS = 60
ANSWER_BY = 20.0
_OWN = {"uid": skeleton.CHILD_UID, "gid": skeleton.CHILD_UID}
_TELL_PATH = "import json, sys; print(json.dumps(sys.path))"


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a container is made from; ``told`` is what its worker must know beside what the session says."""

    image: str
    python: str
    mirror: Mirror
    scratch: str
    env: Mapping[str, str]
    told: Mapping[str, Any] = field(default_factory=dict)


class DockerSandbox:
    """Boxes that are containers; where no image is named, on Linux, an empty one with the host's mirror."""

    kind = "docker"
    confined = True
    runs_model_code = True

    def __init__(self, session: Session, settings: Settings) -> None:
        self._session, self._settings = session, settings
        self._services = Services(settings)

    @property
    def services(self) -> tuple[str, ...]:
        """Return the addresses on this machine that the tests can reach."""
        return self._services.names

    @property
    def limits_note(self) -> str:
        """Return what it does not hold: services that are let in, import paths that were too wide to show."""
        left_out = () if self._settings.image else self._mirror(self._session.tree).left_out
        hidden = "Not shown to the tests, because they hold more than modules: " + ", ".join(left_out)
        return " ".join(filter(None, (self._services.note, hidden if left_out else "")))

    def require_engine(self) -> None:
        """Ask the engine whether it is there.

        :raises EngineUnavailable: where it does not answer within three seconds.
        """
        try:
            with _asking("no container engine answers"), closing(_connect(ANSWER_SECONDS)) as api:
                api.ping()
        except SandboxError as error:
            raise EngineUnavailable(str(error)) from error

    def obstacle(self) -> str | None:
        """Return why this sandbox cannot be used here, or None. With a mirror it tries it in a container."""
        try:
            self.require_engine()
            if not self._settings.image:
                self._probe()
        except EngineUnavailable as error:
            return str(error)
        except SandboxError as error:
            return f"{error} {error.hint}"
        return None

    def open(self, snapshot: Snapshot) -> Box:
        """Start a container and the worker in it."""
        with self._services.door() as door:
            return door.serve(self._open(snapshot, door))

    def _open(self, snapshot: Snapshot, door: Door) -> Box:
        space, half = Space.fitting(snapshot.archive, self._settings), inside_tar()
        with _asking("the container could not be started"):
            api = _connect(CALL_SECONDS)
            _sweep(api)
            recipe = self._recipe(api, snapshot.root)
            config = host_config(recipe.mirror, self._settings, space, recipe.scratch)
            config["Mounts"] += [bind(door.folder, DOOR_AT)] if door.folder else []
            channel = _run(api, recipe.image, boot_command(recipe.python, len(half)), config, recipe.env)
        told = {**setup(recipe.mirror, space, recipe.scratch, recipe.env), "services": door.told(DOOR_AT)}
        try:
            channel.send(half, time.monotonic() + CALL_SECONDS)
            return start(channel, self._session, snapshot, {**told, **_OWN, **recipe.told})
        except ChannelClosed as error:
            channel.kill()
            raise SandboxError(f"the container ended at once: {channel.reason or error}") from error
        except BaseException:
            channel.kill()
            raise

    def _recipe(self, api: Any, tree: str) -> Recipe:
        return self._from_image(api, self._settings.image, tree) if self._settings.image else self._mirrored(api, tree)

    def _mirrored(self, api: Any, tree: str) -> Recipe:
        """Make a container from an empty image, which is made where the engine does not have it."""
        mirror = self._mirror(tree)
        scratch = scratch_place(mirror)
        tar = skeleton.image_tar(mirror.links, skeleton.accounts(home=scratch))
        tag = skeleton.digest(tar)
        if not api.images(f"{REPOSITORY}:{tag}", quiet=True):
            api.import_image_from_data(tar, repository=REPOSITORY, tag=tag)
        env = environment(self._session, self._settings, os.environ, visible=mirror.shows, scratch=scratch)
        return Recipe(f"{REPOSITORY}:{tag}", self._session.interpreter.executable, mirror, scratch, env)

    def _from_image(self, api: Any, image: str, tree: str) -> Recipe:
        """Make a container from an image that holds an environment of its own: its Python, its import path."""
        mirror = Mirror(os.path.realpath(tree), ())
        scratch = scratch_place(mirror)
        env = environment(self._session, self._settings, os.environ, visible=mirror.shows, scratch=scratch)
        env = {name: value for name, value in env.items() if name not in ("VIRTUAL_ENV", *FOLDER_LISTS)}
        own = dict(entry.split("=", 1) for entry in api.inspect_image(image)["Config"]["Env"] or ())
        env["PATH"] = own.get("PATH", "/usr/local/bin:/usr/bin:/bin")
        config = host_config(mirror, self._settings, Space(16 * MIB, 16 * MIB), scratch)
        said, complaint = _answer(api, image, ["python3", "-I", "-c", _TELL_PATH], config, env)
        try:
            path = [str(entry) for entry in json.loads(said)]
        except ValueError as error:
            raise SandboxError(f"the image {image} has no python3 that starts: {complaint or said}") from error
        of_tree = [
            entry for entry in self._session.interpreter.sys_path if within(os.path.realpath(entry), mirror.tree)
        ]
        return Recipe(image, "python3", mirror, scratch, env, {"sys_path": [*of_tree, *path]})

    def _mirror(self, tree: str) -> Mirror:
        try:
            mirror = reflect(self._session, tree)
        except ValueError as error:
            hint = "Name an image that holds the project's environment: --noepi-image IMAGE"
            raise SandboxError(f"This environment cannot be shown to a container: {error}.", hint=hint) from error
        if closed := unreadable(mirror):
            hint = f"Make it readable (chmod -R go+rX {closed}), or name an image: --noepi-image IMAGE"
            raise SandboxError(f"{closed} can be read by its owner alone, and the tests run as another user", hint=hint)
        return mirror

    def _probe(self) -> None:
        """Show a container a file that only this host can have, to its Python, as the user that tests will be.

        :raises SandboxError: where it does not see it.
        """
        nonce, inside = secrets.token_hex(16), f"{INSIDE_AT}.nonce"
        with tempfile.TemporaryDirectory(prefix="noepi-probe-") as folder, _asking("a container cannot be started"):
            Path(folder).chmod(0o755)
            Path(folder, "nonce").write_text(nonce, encoding="ascii")
            api = _connect(CALL_SECONDS)
            recipe = self._mirrored(api, self._session.tree)
            config = host_config(recipe.mirror, self._settings, Space(16 * MIB, 16 * MIB), recipe.scratch)
            config["Mounts"].append(bind(f"{folder}/nonce", inside))
            command = [recipe.python, "-I", "-S", "-c", f"print(open({inside!r}).read())"]
            said, complaint = _answer(api, recipe.image, command, config, recipe.env)
        if said.strip() != nonce:
            raise SandboxError(f"the container engine does not show this machine's files: {complaint or said}")


def _answer(
    api: Any, image: str, command: Sequence[str], config: Mapping[str, Any], env: Mapping[str, str]
) -> tuple[str, str]:
    """Return what a command says in a container of its own, run by the tests' user, and what it complains of."""
    channel = _run(api, image, command, config, env, user=str(skeleton.CHILD_UID))
    said, deadline = b"", time.monotonic() + ANSWER_BY
    try:
        while len(said) < MIB:
            said += channel.receive(4096, deadline)
    except ChannelClosed:
        pass  # it has said all it had to say
    finally:
        channel.kill()
    return said.decode("utf-8", "replace"), channel.reason


def _run(
    api: Any, image: str, command: Sequence[str], config: Mapping[str, Any], env: Mapping[str, str], user: str = "0:0"
) -> AttachedChannel:
    """Create a container, listen to it, and start it."""
    name = f"noepi-{uuid.uuid4().hex}"
    api.create_container(
        image,
        name=name,
        entrypoint=[command[0]],
        command=list(command[1:]),
        user=user,
        hostname="sandbox",
        working_dir="/",
        environment=dict(env),
        stdin_open=True,
        labels={LABEL: str(os.getpid())},
        host_config=dict(config),
    )
    try:
        stream = api.attach_socket(name, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
        channel = AttachedChannel(stream, lambda: _end(api, name))
        api.start(name)
    except BaseException:
        _end(api, name)
        raise
    return channel


def _end(api: Any, name: str) -> None:
    """Remove a container, and let go of the connections to the engine; a further call would make new ones."""
    try:
        _remove(api, name)
    finally:
        api.close()


def _remove(api: Any, name: str) -> None:
    """Kill and remove a container by its name, and see that it is gone.

    :raises SandboxError: where it is still there after ten seconds.
    """
    from docker.errors import APIError, NotFound

    deadline = time.monotonic() + 10.0
    while time.monotonic() < deadline:
        try:
            api.remove_container(name, force=True, v=True)
        except NotFound:
            return
        except APIError as error:
            if error.status_code != 409:  # 409: the engine is at it already
                raise SandboxError(f"the container {name} could not be removed: {error.explanation}") from error
        time.sleep(0.02)
    raise SandboxError(f"the container {name} is still there", hint=f"Remove it: docker rm -f {name}")


def _sweep(api: Any) -> None:
    """Remove containers that were created and never started, because their maker was killed in between."""
    for one in api.containers(all=True, filters={"label": LABEL, "status": "created"}):
        if time.time() - one["Created"] > CALL_SECONDS:
            _remove(api, one["Id"])


def _connect(seconds: int) -> Any:
    import docker

    return docker.from_env(timeout=seconds).api


@contextmanager
def _asking(words: str) -> Iterator[None]:
    """Turn what the library and its connection raise into one error of ours."""
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    try:
        yield
        return
    except (DockerException, RequestException) as error:
        reason = str(getattr(error, "explanation", None) or error)
        _let_go(error)
    raise SandboxError(f"{words}: {reason}")


def _let_go(error: BaseException | None) -> None:
    """Free the socket that a failed connection leaves open, quietly: the user's session may turn warnings to errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        while error is not None:
            traceback.clear_frames(error.__traceback__)
            error = error.__cause__ or error.__context__
