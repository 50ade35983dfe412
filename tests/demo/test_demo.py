import json
import xml.etree.ElementTree as ET
from contextlib import redirect_stdout
from io import StringIO

import pytest

from cuesta.cli.demo import demo
from cuesta.core.errors import ConfigError, CuestaError
from cuesta.core.prices import PriceBook
from cuesta.core.usage import Usage
from cuesta.testing.job import Job, repair_job
from cuesta.testing.simulator import Step, ToolCall


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    printed = StringIO()
    with redirect_stdout(printed):
        status = demo(folder, json_output=True, threshold=None, profile="default")
    return status, json.loads(printed.getvalue()), folder


def test_both_runs_do_the_job(told):
    status, figures, _ = told
    for run in (figures["straight"], figures["compacted"]):
        assert run["tests_pass"]
        assert run["refused"] == 0
        assert run["calls"] == len(run["prompts"]) == len(repair_job().steps)
    assert status == 0


def test_the_straight_run_grows_and_the_other_drops_at_least_three_times(told):
    _, figures, _ = told
    assert figures["straight"]["cliffs"] == 0
    assert 120_000 <= figures["straight"]["peak"] <= 200_000
    assert figures["compacted"]["cliffs"] >= 3
    assert figures["compacted"]["peak"] < figures["straight"]["peak"] / 2


def test_figures_agree_with_each_other(told):
    _, figures, _ = told
    price = PriceBook().price(figures["model"])
    for run in (figures["straight"], figures["compacted"]):
        usage = Usage(**run["usage"])
        assert run["cost"] == pytest.approx(price.cost(usage))
        assert sum(run["prompts"]) == usage.prompt
        assert max(run["prompts"]) == run["peak"]
    costs = figures["compacted"]["cost"] / figures["straight"]["cost"]
    assert figures["saving"] == pytest.approx(1 - costs, abs=1e-4)
    assert figures["saving"] > 0


def test_the_picture_is_written(told):
    _, figures, folder = told
    assert figures["picture"] == str(folder / "saw-tooth.svg")
    ET.parse(figures["picture"])


def test_it_takes_less_than_a_minute(told):
    assert told[1]["seconds"] < 60


SHORT = Job(
    "Look around.",
    (Step(text="I look.", calls=(ToolCall("list_files", {}),)), Step(text="Nothing to do.")),
    {},
)


def test_failing_tests_are_told_and_fail(tmp_path, capsys):
    assert demo(tmp_path, json_output=False, threshold=None, profile="default", job=SHORT) == 1
    out, err = capsys.readouterr()
    assert "straight: the job ended with failing tests" in err
    assert "through Cuesta: the job ended with failing tests" in err
    assert max(map(len, out.splitlines()[:-1])) <= 80
    for words in ("straight", "through Cuesta", "cost", "Prompt tokens", "saw-tooth.svg"):
        assert words in out


def test_a_run_that_breaks_off_says_why(tmp_path):
    refusing = Job("Look.", (Step(text="No.", stop_reason="refusal"),), {})
    with pytest.raises(CuestaError, match="straight broke off: the model stopped"):
        demo(tmp_path, json_output=True, threshold=None, profile="default", job=refusing)


def test_options_that_make_no_sense_are_told_at_once(tmp_path):
    with pytest.raises(ConfigError):
        demo(tmp_path, json_output=True, threshold=-1, profile="default")
    with pytest.raises(ConfigError):
        demo(tmp_path, json_output=True, threshold=None, profile="of tomorrow")
