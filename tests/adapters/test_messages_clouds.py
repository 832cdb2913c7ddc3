"""Claude through a cloud: what is missing is named before anything is asked, with what to do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_noepicycle.adapters.clouds import CLOUDS, lacking
from pytest_noepicycle.domain.ladder import Ladder
from pytest_noepicycle.errors import LadderError
from pytest_noepicycle.proposers import ProposerFactory, at_its_servers

HERE = {name: replace(cloud, library="json", machine="no such machine") for name, cloud in CLOUDS.items()}


@pytest.mark.parametrize(
    ("provider", "environ", "file", "says"),
    [
        ("bedrock", {}, None, "needs a region: set AWS_REGION or AWS_DEFAULT_REGION"),
        ("bedrock", {"AWS_REGION": "eu-west-1"}, None, "no credentials for bedrock: set AWS_BEARER_TOKEN_BEDROCK"),
        ("bedrock", {"AWS_REGION": "eu-west-1", "AWS_PROFILE": "work"}, None, ""),
        ("bedrock", {"AWS_DEFAULT_REGION": "eu-west-1"}, ".aws/credentials", ""),
        ("vertex", {"GOOGLE_APPLICATION_CREDENTIALS": "x"}, None, "set CLOUD_ML_REGION"),
        ("vertex", {"CLOUD_ML_REGION": "global"}, None, "gcloud auth application-default login"),
        ("vertex", {"CLOUD_ML_REGION": "global"}, ".config/gcloud/application_default_credentials.json", ""),
    ],
)
def test_what_a_cloud_lacks_is_said_with_what_to_do(tmp_path, provider, environ, file, says):
    """The region, then the credentials, by name or by the file that a login leaves."""
    if file:
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).write_text("{}")
    told = lacking(provider, environ, tmp_path, HERE)
    assert says in told
    assert bool(told) is bool(says)


@pytest.mark.parametrize("provider", sorted(CLOUDS))
def test_a_library_that_is_not_installed_is_named_with_the_command(tmp_path, provider):
    """Of a package inside another one too."""
    missing = {provider: replace(CLOUDS[provider], library="no_such_package.inside")}
    assert f"pip install 'anthropic[{provider}]'" in lacking(provider, {}, tmp_path, missing)


def test_a_rung_of_a_cloud_is_skipped_with_the_reason_and_asks_for_no_key(monkeypatch):
    """The key of Anthropic's own API is nothing to it, nor is the address of another server."""
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://elsewhere")
    ladder = Ladder({"cloud": {"provider": "bedrock", "model": "anthropic.claude-haiku-4-5-v1:0"}})
    (skipped,) = ProposerFactory(ladder, ".", True).skipped()
    assert "bedrock needs" in skipped.why
    told: list[str] = []
    assert at_its_servers(ladder, told.append) == ladder
    assert told == []
    assert ladder.rungs["cloud"].price is None


def test_a_provider_that_is_none_is_an_error_of_the_ladder():
    """With those that there are."""
    with pytest.raises(LadderError, match=r"rungs\.r\.provider.*anthropic, bedrock, vertex"):
        Ladder.from_mapping({"rungs": {"r": {"provider": "acme"}}})


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("samples", 0, "from 1 to 16"),
        ("samples", 17, "from 1 to 16"),
        ("steps", True, "from 1 to 64"),
        ("steps", "2", ""),
    ],
)
def test_counts_of_a_rung_are_checked(key, value, says):
    """A ladder that cannot be walked is refused with the key's path."""
    with pytest.raises(LadderError, match=rf"rungs\.r\.{key}: .*{says}"):
        Ladder.from_mapping({"rungs": {"r": {key: value}}})
