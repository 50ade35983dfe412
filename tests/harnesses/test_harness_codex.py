"""Codex: its provider stays, and that provider's requests come through the proxy."""

import json
import tomllib
from pathlib import Path

import pytest

from cuesta.harnesses import Launch, find_harness
from cuesta.harnesses.codex import Codex, Layer, arrange

PROXY = "http://127.0.0.1:5000"
GATEWAY = "https://gateway.example.com/openai/v1"
BUILT_IN = ("-c", f'openai_base_url="{PROXY}/v1"')
ADDRESS = f"openai_base_url={GATEWAY}"
OWN = ("-c", f'model_providers.own.base_url="{PROXY}/v1"')
PROVIDER = f"""
model_provider = "own"
[model_providers.own]
name = "mine"
base_url = "{GATEWAY}"
env_key = "MY_KEY"
"""


def launch(*argv, upstream="", chatgpt="", **env):
    return Launch(
        argv or ("codex",),
        env,
        Path("/work"),
        PROXY,
        openai_upstream=upstream,
        chatgpt_upstream=chatgpt,
    )


def user(text):
    return Layer("config.toml", text)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("codex", "Codex"),
        ("/opt/bin/codex exec hi", "Codex"),
        ("npx codex exec hi", "Codex"),
        ("npx -y @openai/codex@latest exec hi", "Codex"),
        ("npx -p @openai/codex codex", "Codex"),
        ("npx @openai/codex-sdk", "any command"),
        ("codexx", "any command"),
        ("echo codex", "any command"),
    ],
)
def test_codex_is_recognised_by_its_name(command, name):
    assert find_harness(command.split()).name == name


@pytest.mark.parametrize(
    ("command", "head"),
    [
        ("codex", "codex"),
        ("codex -m gpt-5.5 hi", "codex"),
        ("codex exec --json hi", "codex"),
        ("codex exec resume 0199 on", "codex"),
        ("codex resume --last", "codex"),
        ("npx -y @openai/codex exec hi", "npx -y @openai/codex"),
    ],
)
def test_the_built_in_provider_keeps_its_login_and_gets_another_address(command, head):
    found = arrange(launch(*command.split(), OPENAI_API_KEY="sk-a"), ())
    head = tuple(head.split())
    assert found.argv == (*head, *BUILT_IN, *command.split()[len(head) :])
    assert found.env["OPENAI_API_KEY"] == "sk-a"
    assert "OPENAI_BASE_URL" not in found.env
    assert found.env["NO_PROXY"] == "127.0.0.1,localhost,::1"
    assert (found.openai_upstream, found.chatgpt_upstream, found.warnings) == ("", "", ())


@pytest.mark.parametrize("given", ["", "https://flag.example"])
def test_an_address_of_the_built_in_provider_becomes_the_upstream_of_either_login(given):
    found = arrange(launch(upstream=given, chatgpt=given), [user(f'openai_base_url = "{GATEWAY}"')])
    assert found.argv == ("codex", *BUILT_IN)
    assert (found.openai_upstream, found.chatgpt_upstream) == (given or GATEWAY,) * 2


def test_a_provider_of_one_s_own_keeps_everything_but_its_address():
    found = arrange(launch("codex", "exec", "hi", MY_KEY="k"), [user(PROVIDER)])
    assert found.argv == ("codex", *OWN, "exec", "hi")
    assert (found.openai_upstream, found.chatgpt_upstream) == (GATEWAY, GATEWAY)
    assert found.env["MY_KEY"] == "k"


def test_a_provider_without_an_address_of_its_own_goes_where_its_login_is_good():
    text = 'model_provider = "own"\n[model_providers.own]\nname = "x"\nrequires_openai_auth = true'
    found = arrange(launch(), [user(text)])
    assert found.argv == ("codex", *OWN)
    assert (found.openai_upstream, found.chatgpt_upstream) == ("", "")


def test_a_provider_whose_name_is_no_plain_key_is_reached_too():
    text = f'model_provider = "a.b c"\n[model_providers."a.b c"]\nbase_url = "{GATEWAY}"'
    found = arrange(launch(), [user(text)])
    assert found.argv[:2] == ("codex", "-c")
    assert tomllib.loads(found.argv[2]) == {
        "model_providers": {"a.b c": {"base_url": f"{PROXY}/v1"}}
    }
    assert found.openai_upstream == GATEWAY


def test_azure_is_still_known_as_azure():
    azure = "https://mine.openai.azure.com/openai/v1"
    found = arrange(launch(), [user(PROVIDER.replace(GATEWAY, azure))])
    assert found.argv == ("codex", *OWN, "-c", 'model_providers.own.name="azure"')
    assert found.openai_upstream == azure


@pytest.mark.parametrize(
    ("layers", "words"),
    [
        (['model_provider = "other"', PROVIDER], ()),
        ([PROVIDER.replace('"own"', '"other"')], ("-c", "model_provider=own")),
        ([PROVIDER.replace('"own"', '"other"')], ("--config", 'model_provider="own"')),
        ([PROVIDER.replace('"own"', '"other"')], ("-cmodel_provider=own",)),
        ([PROVIDER.replace('"own"', '"other"')], ("exec", "--config=model_provider='own'")),
        ([PROVIDER.replace(GATEWAY, "https://old.example"),
          f'[model_providers.own]\nbase_url = "{GATEWAY}"'], ()),
    ],
)  # fmt: skip
def test_the_layers_count_as_they_do_for_codex(layers, words):
    found = arrange(launch("codex", *words), [user(text) for text in layers])
    assert found.openai_upstream == GATEWAY
    assert found.argv == ("codex", *OWN, *words)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ("exec", "-c", f'openai_base_url="{GATEWAY}"', "hi"),
            ("exec", "-c", f'openai_base_url="{GATEWAY}"', *BUILT_IN, "hi"),
        ),
        ((f"-c{ADDRESS}",), (f"-c{ADDRESS}", *BUILT_IN)),
        (
            ("--config", ADDRESS, "exec", f"--config={ADDRESS}"),
            ("--config", ADDRESS, *BUILT_IN, "exec",
             f"--config={ADDRESS}", *BUILT_IN),
        ),
    ],
)  # fmt: skip
def test_an_address_among_the_flags_becomes_the_upstream_and_ours_stands_behind_it(words, expected):
    found = arrange(launch("codex", *words), ())
    assert found.argv == ("codex", *BUILT_IN, *expected)
    assert found.openai_upstream == GATEWAY


def test_a_provider_among_the_flags_is_overridden_behind_each():
    table = f'model_providers.own={{name="x", base_url="{GATEWAY}"}}'
    words = ("-c", "model_provider=own", "exec", "-c", table, "-c", "model=gpt", "hi")
    found = arrange(launch("codex", *words), ())
    assert found.argv == ("codex", *OWN, *words[:5], *OWN, *words[5:])
    assert found.openai_upstream == GATEWAY


@pytest.mark.parametrize(
    "words",
    [
        ("-m", "gpt", "-p", "fast", "-c", "model_reasoning_effort=high", "exec", "hi"),
        ("sandbox", "bash", "-c", "ls"),
        ("exec", "--", "-c", ADDRESS),
        ("exec", "-c"),
    ],
)
def test_all_other_words_stay_as_they_are(words):
    found = arrange(launch("codex", *words), ())
    assert found.argv == ("codex", *BUILT_IN, *words)
    assert found.openai_upstream == ""


@pytest.mark.parametrize(
    ("words", "text", "warning"),
    [
        (("--oss",), "", "--oss makes Codex use a model of this machine"),
        (("--remote", "ws://x"), "", "--remote makes Codex ask through another server"),
        ((), 'model_provider = "ollama"', "Codex's provider `ollama`"),
        ((), 'model_provider = "own"\nmodel_providers = 1', "Codex's provider `own`"),
        ((), f"{PROVIDER}\n[model_providers.own.aws]\nprofile = 'p'", "signs requests"),
    ],
)
def test_what_cannot_be_redirected_is_named_and_left_alone(words, text, warning):
    found = arrange(launch("codex", *words), [user(text)])
    assert len(found.warnings) == 1
    assert warning in found.warnings[0]
    assert "do not come through Cuesta" in found.warnings[0]
    assert found.argv == ("codex", *words)
    assert (found.openai_upstream, found.chatgpt_upstream) == ("", "")


@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        (f'openai_base_url = "{GATEWAY}"', ["`openai_base_url` in /etc/m.toml goes before"]),
        (PROVIDER, ["`model_providers.own.base_url` in /etc/m.toml goes before"]),
        ('approval_policy = "never"', []),
        ("not toml", []),
    ],
)
def test_an_administrator_s_settings_that_override_ours_are_named(text, warnings):
    found = arrange(launch(), [user(""), Layer("/etc/m.toml", text, managed=True)])
    assert len(found.warnings) == len(warnings)
    assert all(wanted in said for wanted, said in zip(warnings, found.warnings, strict=True))


def test_every_file_is_read_where_codex_looks_for_it(tmp_path):
    home, system = tmp_path / "home", tmp_path / "etc"

    def upstream(*argv, **env):
        argv = argv or ("codex",)
        return Codex(system).prepare(launch(*argv, HOME=str(home), **env)).openai_upstream

    def write(path, host):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'openai_base_url = "https://{host}.example"')

    assert upstream() == ""
    write(system / "config.toml", "system")
    assert upstream() == "https://system.example"
    write(home / ".codex" / "config.toml", "user")
    assert upstream() == "https://user.example"
    assert upstream("codex", "exec", "--ignore-user-config", "hi") == "https://system.example"
    write(home / ".codex" / "fast.config.toml", "fast")
    for words in (["-p", "fast"], ["--profile", "fast"], ["--profile=fast"], ["-pfast"]):
        assert upstream("codex", "exec", *words, "hi") == "https://fast.example"
    assert upstream("codex", "-p", "absent") == "https://user.example"
    write(tmp_path / "own" / "config.toml", "own")
    assert upstream(CODEX_HOME=str(tmp_path / "own")) == "https://own.example"
    write(system / "managed_config.toml", "managed")
    found = Codex(system).prepare(launch(HOME=str(home)))
    assert str(system / "managed_config.toml") in found.warnings[0]


def test_files_that_cannot_be_read_are_passed_over(tmp_path):
    (tmp_path / ".codex" / "config.toml").mkdir(parents=True)
    found = Codex(tmp_path / "etc").prepare(launch(HOME=str(tmp_path)))
    assert found.argv == ("codex", *BUILT_IN)


def test_the_address_is_one_toml_string():
    (text,) = [word for word in arrange(launch(), ()).argv if "base_url" in word]
    assert tomllib.loads(text) == {"openai_base_url": json.loads(text.partition("=")[2])}
