"""A GitLab for tests: one for the session, back at its seed before each test."""

import json
import os
import shlex
import subprocess
from pathlib import Path

import gitlab
import pytest
import requests

SEED = Path(__file__).with_name("seed.json")
COMMAND = shlex.split(os.environ.get("PM_CLI", "npx --yes pm-api"))


@pytest.fixture(scope="session")
def started():
    """The server: its addresses and tokens."""
    command = [*COMMAND, "test", "--exit-with-parent", "--seed", str(SEED)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        yield json.loads(server.stdout.readline())
        server.stdin.close()


@pytest.fixture
def server(started):
    """The server, at its seed."""
    requests.post(started["control"] + "reset").raise_for_status()
    return started


@pytest.fixture
def client(server):
    """A client that has signed in as ada."""
    return gitlab.Gitlab(server["url"], private_token=server["tokens"]["ada"])


@pytest.fixture
def expect_changes(server):
    """Fails unless exactly this has changed since the seed."""

    def expect(**changes):
        body = {"only": True, **changes}
        assert requests.post(server["control"] + "changes/expect", json=body).json() == {
            "ok": True,
            "differences": [],
        }

    return expect
