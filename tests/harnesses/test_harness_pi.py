"""Pi: which providers come through the proxy, where their requests go on, and who is named."""

import json
from pathlib import Path

import pytest

from cuesta.harnesses import Launch, find_harness
from cuesta.harnesses.pi import ADDRESSES, Files, arrange, read_files

PROXY = "http://127.0.0.1:5000"
GATEWAY = "https://gateway.example.com/v1"
OFFICIAL = {"anthropic": PROXY, "openai": PROXY, "openai-codex": f"{PROXY}/backend-api"}


def launch(*words, upstream="", openai="", chatgpt="", **env):
    return Launch(("pi", *words), env, Path("/work"), PROXY, upstream, openai, chatgpt)


def models(**providers):
    return json.dumps({"providers": providers})


def own(base=GATEWAY, api="openai-completions", **more):
    return {"baseUrl": base, "api": api, "apiKey": "k", "models": [{"id": "m"}], **more}


def redirected(found):
    return json.loads(found.env.get(ADDRESSES, "{}"))


def upstreams(found):
    return found.upstream, found.openai_upstream, found.chatgpt_upstream


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("pi", "Pi"),
        ("/opt/bin/pi -p hi", "Pi"),
        ("npx -y @earendil-works/pi-coding-agent@1.6.0 -p hi", "Pi"),
        ("npx @earendil-works/pi-ai", "any command"),
        ("pip", "any command"),
        ("echo pi", "any command"),
    ],
)
def test_pi_is_recognised_by_its_name(command, name):
    assert find_harness(command.split()).name == name


def test_the_official_providers_come_through_and_nothing_else_changes():
    found = arrange(launch("-p", "hi", PATH="/bin", ANTHROPIC_API_KEY="k"), Files())
    assert found.argv[:2] == ("pi", "--extension")
    assert found.argv[3:] == ("-p", "hi")
    assert "registerProvider" in Path(found.argv[2]).read_text()
    assert redirected(found) == OFFICIAL
    assert upstreams(found) == ("", "", "")
    assert found.warnings == ()
    assert found.env["PATH"] == "/bin"
    assert found.env["NO_PROXY"] == "127.0.0.1,localhost,::1"
    assert "ANTHROPIC_BASE_URL" not in found.env


def test_the_extension_stands_behind_the_package_of_an_npx_command():
    command = ("npx", "-y", "@earendil-works/pi-coding-agent", "-p", "hi")
    found = arrange(Launch(command, {}, Path("/work"), PROXY), Files())
    assert found.argv[:4] == (*command[:3], "--extension")
    assert found.argv[5:] == command[3:]


@pytest.mark.parametrize("word", ["install", "update", "auth", "config", "list", "mcp"])
def test_commands_that_ask_no_model_stay_as_they_are(word):
    found = arrange(launch(word, "x"), Files())
    assert found.argv == ("pi", word, "x")
    assert redirected(found) == {}


@pytest.mark.parametrize(
    ("api", "expected"),
    [
        ("anthropic-messages", (GATEWAY, "", "")),
        ("openai-completions", ("", GATEWAY, "")),
        ("openai-responses", ("", GATEWAY, "")),
    ],
)
def test_a_configured_provider_s_address_becomes_the_upstream_of_its_api(api, expected):
    found = arrange(launch(), Files(models=models(mine=own(api=api))))
    assert upstreams(found) == expected
    assert redirected(found)["mine"] == PROXY
    assert found.warnings == ()


def test_one_provider_may_speak_two_apis():
    entry = own("https://gateway.example.com/")
    entry["models"] = [{"id": "a", "api": "anthropic-messages"}, {"id": "b"}]
    found = arrange(launch(), Files(models=models(mine=entry)))
    assert upstreams(found) == ("https://gateway.example.com", "https://gateway.example.com/v1", "")
    assert redirected(found) == {"mine": PROXY, "openai-codex": f"{PROXY}/backend-api"}


def test_another_address_for_a_built_in_provider_is_its_upstream():
    text = models(anthropic={"baseUrl": GATEWAY}, openai={"headers": {"X": "y"}})
    found = arrange(launch(), Files(models=text))
    assert upstreams(found) == (GATEWAY, "", "")
    assert redirected(found) == OFFICIAL


def test_a_provider_goes_its_own_way_where_the_upstream_is_another_s_and_is_named():
    text = models(one=own(), two=own("https://two.example/v1"), three=own(GATEWAY + "/"))
    found = arrange(launch(OPENAI_API_KEY="k", XAI_API_KEY="k"), Files(models=text))
    assert upstreams(found) == ("", GATEWAY, "")
    assert set(redirected(found)) == {"one", "three", "anthropic", "openai-codex"}
    (warning,) = found.warnings
    assert "`openai`, `xai`, `two` do not come through Cuesta in this run" in warning


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        (("--provider", "two", "--model", "m"), ()),
        (("--model", "two/m"), ()),
        (("--model", "m2"), ()),
        ((), ('{"defaultProvider": "two"}',)),
        ((), ('{"defaultProvider": "one"}', '{"defaultProvider": "two"}')),
        (("--provider", "two"), ('{"defaultProvider": "one"}',)),
        (("-p", "--provider", "two", "--", "--provider", "one"), ()),
    ],
)
def test_the_provider_that_was_asked_for_is_the_one(words, settings):
    two = own("https://two.example/v1", models=[{"id": "m2"}])
    text = models(one=own(), two=two)
    found = arrange(launch(*words), Files(models=text, settings=settings))
    assert upstreams(found) == ("", "https://two.example/v1", "")
    assert "two" in redirected(found)
    assert "one" not in redirected(found)
    assert "`one` do not come through" in found.warnings[0]


def test_pi_s_own_other_providers_are_reached_at_their_addresses():
    found = arrange(launch("--model", "openrouter/any/model"), Files())
    assert upstreams(found) == ("https://openrouter.ai/api", "https://openrouter.ai/api/v1", "")
    assert redirected(found) == {"openrouter": PROXY, "openai-codex": f"{PROXY}/backend-api"}
    found = arrange(launch(GROQ_API_KEY="k"), Files())
    assert upstreams(found) == ("", "https://api.groq.com/openai/v1", "")
    assert set(redirected(found)) == {"anthropic", "groq", "openai-codex"}
    assert found.warnings == ()


@pytest.mark.parametrize("told", ["https://told.example/v1", "https://told.example/v1/"])
def test_what_cuesta_was_told_goes_first(told):
    found = arrange(launch(openai=told, OPENAI_API_KEY="k"), Files())
    assert upstreams(found) == ("", told, "")
    assert redirected(found) == OFFICIAL
    asked = arrange(launch("--provider", "one", openai=told), Files(models=models(one=own())))
    assert upstreams(asked) == ("", told, "")
    assert redirected(asked)["one"] == PROXY
    assert "openai" not in redirected(asked)


def test_a_key_of_another_provider_is_not_sent_where_cuesta_was_told_to_send_openai_s():
    found = arrange(launch(openai="https://told.example"), Files(models=models(one=own())))
    assert redirected(found) == OFFICIAL
    assert "`one` do not come through" in found.warnings[0]
    same = arrange(launch(openai=GATEWAY.removesuffix("/v1")), Files(models=models(one=own())))
    assert redirected(same) == {**OFFICIAL, "one": PROXY}


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (own(api="google-generative-ai"), "`mine` speaks `google-generative-ai`"),
        (own(models=[{"id": "m", "baseUrl": "https://m.example"}]), "addresses of their own"),
        ({"models": [{"id": "m", "api": "openai-responses"}]}, "an address that is not known"),
        ({"baseUrl": GATEWAY}, "an address that is not known"),
        ("nonsense", "an address that is not known"),
    ],
)
def test_a_configured_provider_that_cannot_be_redirected_is_named(entry, words):
    found = arrange(launch(), Files(models=models(mine=entry)))
    assert len(found.warnings) == 1
    assert words in found.warnings[0]
    assert "do not come through Cuesta" in found.warnings[0]
    assert redirected(found) == OFFICIAL
    assert upstreams(found) == ("", "", "")


def test_a_provider_that_was_asked_for_and_is_not_known_is_named():
    found = arrange(launch("--provider", "amazon-bedrock"), Files())
    assert "`amazon-bedrock` is not known" in found.warnings[0]


def test_an_openai_login_that_works_at_its_own_address_only_is_left_alone():
    logins = json.dumps({"openai": {"type": "oauth", "access": "secret"}})
    found = arrange(launch(), Files(logins=logins))
    assert "openai" not in redirected(found)
    assert "`openai` is signed in with ChatGPT" in found.warnings[0]
    assert "secret" not in str(found)
    with_key = arrange(launch(), Files(logins=json.dumps({"openai": {"type": "api_key"}})))
    assert redirected(with_key) == OFFICIAL


@pytest.mark.parametrize(
    "text",
    [
        '{ // a comment, and "quotes"\n "providers": {"mine": %s,},}',
        '{"providers": {"mine": %s}} // end',
    ],
)
def test_models_may_have_comments_and_trailing_commas(text):
    entry = json.dumps(own("https://host.example//a,]/v1"))
    found = arrange(launch(), Files(models=text % entry))
    assert found.openai_upstream == "https://host.example//a,]/v1"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"providers": []}', "null"])
def test_files_that_make_no_sense_are_pi_s_to_complain_about(text):
    found = arrange(launch(), Files(models=text, settings=(text, text), logins=text))
    assert redirected(found) == OFFICIAL
    assert found.warnings == ()


def test_every_file_is_read_where_pi_looks_for_it(tmp_path):
    def write(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def read(**env):
        return read_files(Launch(("pi",), {"HOME": str(tmp_path), **env}, tmp_path / "cwd", PROXY))

    assert read() == Files(settings=("", ""))
    agent = tmp_path / ".pi" / "agent"
    for name in ("models", "settings", "auth"):
        write(agent / f"{name}.json", name)
        write(tmp_path / "other" / f"{name}.json", f"other {name}")
    write(tmp_path / "cwd" / ".pi" / "settings.json", "project")
    assert read() == Files("models", ("settings", "project"), "auth")
    assert read(PI_CODING_AGENT_DIR=str(tmp_path / "other")) == Files(
        "other models", ("other settings", "project"), "other auth"
    )
