

# Appended to the suite's own conftest.py: the server is there already, and nothing takes as long as GitLab does.
import os

sleep = time.sleep
time.sleep = lambda seconds: sleep(min(seconds, 1))


@pytest.fixture(scope="session")
def gitlab_url() -> str:
    return os.environ["GITLAB_URL"]


@pytest.fixture(scope="session")
def gitlab_token() -> str:
    return os.environ["GITLAB_TOKEN"]


@pytest.fixture(scope="session")
def temp_dir(tmp_path_factory) -> pathlib.Path:
    return tmp_path_factory.mktemp("config")
