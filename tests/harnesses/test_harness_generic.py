"""Any command: the environment alone points it at the proxy."""

from pathlib import Path

import pytest

from cuesta.harnesses import Launch, find_harness

PROXY = "http://127.0.0.1:5000"


def prepared(**env):
    launch = Launch(("my-agent", "--settings"), env, Path("/"), PROXY)
    return find_harness(launch.argv).prepare(launch)


def test_the_addresses_are_set_and_the_arguments_stay():
    found = prepared(PATH="/bin")
    assert found.env["ANTHROPIC_BASE_URL"] == PROXY
    assert found.env["OPENAI_BASE_URL"] == f"{PROXY}/v1"
    assert found.env["PATH"] == "/bin"
    assert found.argv == ("my-agent", "--settings")
    assert (found.upstream, found.openai_upstream, found.chatgpt_upstream) == ("", "", "")


def test_an_address_that_was_set_before_becomes_the_upstream_of_its_api():
    found = prepared(ANTHROPIC_BASE_URL="https://one.example")
    assert (found.upstream, found.openai_upstream) == ("https://one.example", "")
    found = prepared(OPENAI_BASE_URL="https://two.example/api/openai/v1")
    assert (found.upstream, found.openai_upstream) == ("", "https://two.example/api/openai/v1")
    assert found.env["OPENAI_BASE_URL"] == f"{PROXY}/v1"


def test_an_upstream_that_was_told_goes_before_the_environment_s():
    launch = Launch(
        ("my-agent",), {"OPENAI_BASE_URL": "https://two.example/v1"}, Path("/"), PROXY,
        openai_upstream="https://told.example",
    )  # fmt: skip
    assert find_harness(launch.argv).prepare(launch).openai_upstream == "https://told.example"


@pytest.mark.parametrize(
    ("env", "upper", "lower"),
    [
        ({}, "127.0.0.1,localhost,::1", "127.0.0.1,localhost,::1"),
        ({"no_proxy": "corp"}, "corp,127.0.0.1,localhost,::1", "corp,127.0.0.1,localhost,::1"),
        (
            {"NO_PROXY": "a, localhost", "no_proxy": "b"},
            "a,localhost,127.0.0.1,::1",
            "b,127.0.0.1,localhost,::1",
        ),
        ({"NO_PROXY": "*"}, "*", "*"),
    ],
)
def test_this_machine_is_reached_without_an_http_proxy(env, upper, lower):
    found = prepared(HTTPS_PROXY="http://corp:3128", **env)
    assert (found.env["NO_PROXY"], found.env["no_proxy"]) == (upper, lower)
    assert found.env["HTTPS_PROXY"] == "http://corp:3128"
