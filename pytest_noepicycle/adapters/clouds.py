"""Claude through a cloud: what Bedrock and Vertex need here, told without importing their libraries."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Cloud:
    """One provider: its library and how to install it, the region's names, and the signs that there are credentials.

    ``machine`` is what the vendor writes into a machine of its own, which has credentials without any sign.
    """

    library: str
    install: str
    region: tuple[str, ...]
    signs: tuple[str, ...]
    files: tuple[str, ...]
    machine: str
    login: str


CLOUDS: Mapping[str, Cloud] = {
    "bedrock": Cloud(
        library="boto3",
        install="pip install 'anthropic[bedrock]'",
        region=("AWS_REGION", "AWS_DEFAULT_REGION"),
        signs=(
            "AWS_BEARER_TOKEN_BEDROCK",
            "AWS_ACCESS_KEY_ID",
            "AWS_PROFILE",
            "AWS_WEB_IDENTITY_TOKEN_FILE",
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        ),
        files=(".aws/credentials", ".aws/config"),
        machine="Amazon EC2",
        login="set AWS_BEARER_TOKEN_BEDROCK or AWS_PROFILE, or run: aws configure",
    ),
    "vertex": Cloud(
        library="google.auth",
        install="pip install 'anthropic[vertex]'",
        region=("CLOUD_ML_REGION",),
        signs=("GOOGLE_APPLICATION_CREDENTIALS",),
        files=(".config/gcloud/application_default_credentials.json",),
        machine="Google Compute Engine",
        login="set GOOGLE_APPLICATION_CREDENTIALS, or run: gcloud auth application-default login",
    ),
}


def lacking(
    provider: str,
    environ: Mapping[str, str] | None = None,
    home: Path | None = None,
    clouds: Mapping[str, Cloud] = CLOUDS,
) -> str:
    """Return what is missing before a cloud can be asked, and what to do; an empty text where nothing is.

    ``environ`` and ``home`` stand for those of this process.
    """
    environ, home = os.environ if environ is None else environ, home or Path.home()
    cloud = clouds[provider]
    if not _installed(cloud.library):
        return f"provider {provider} needs {cloud.library}: {cloud.install}"
    if not any(environ.get(name) for name in cloud.region):
        return f"provider {provider} needs a region: set {' or '.join(cloud.region)}"
    told = any(environ.get(name) for name in cloud.signs) or any((home / file).is_file() for file in cloud.files)
    return "" if told or _is_machine_of(cloud) else f"no credentials for {provider}: {cloud.login}"


def _installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # the package above it is missing
        return False


def _is_machine_of(cloud: Cloud) -> bool:
    """Whether this is a virtual machine of the vendor: those get credentials from a service beside them."""
    for name in ("sys_vendor", "product_name"):
        try:
            if cloud.machine in Path("/sys/class/dmi/id", name).read_text("utf-8", "replace"):
                return True
        except OSError:  # no such machine, or not for us to know
            continue
    return False
