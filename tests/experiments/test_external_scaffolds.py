"""Scaffolds that are programs of their own: started behind the proxy, and their results read."""

from __future__ import annotations

import stat
import sys
import time
from pathlib import Path

import pytest
from experiment_support import open_gate, price_book

from cuesta.experiments.perform import Task, perform, run_of
from cuesta.experiments.record import DONE, ERROR, SECONDS, STEPS, Record
from cuesta.experiments.scaffolds.registry import SCAFFOLDS
from cuesta.experiments.spec import Spec, parse
from cuesta.testing.simulator import ListScript, Simulator

STAND_IN = Path(__file__).with_name("stand_in_harbor.py")
SPEC = """
[limits]
steps = {steps}
minutes = {minutes}
[models."kimi-k2.6"]
base-url = "{url}/v1"
anthropic-url = "{url}"
key = "HOUSE_KEY"
window = 100_000
[[matrix]]
scaffold = "{scaffold}"
task-set = "{task_set}"
models = ["kimi-k2.6"]
strategies = ["{strategy}"]
thresholds = [{threshold}]
tasks = ["{task}"]
{more}
"""


def spec_of(url: str = "http://127.0.0.1:1", **changes: object) -> Spec:
    usual = {
        "url": url, "steps": 50, "minutes": 2, "scaffold": "terminus-2",
        "task_set": "terminal-bench-2.0", "strategy": "keep_all", "threshold": 16_000,
        "task": "solved", "more": "",
    }  # fmt: skip
    return parse(SPEC.format(**{**usual, **changes}), "a test", "external")


def task_of(spec: Spec, folder: Path) -> Task:
    block = spec.blocks[0]
    cell = next(block.cells(block.tasks))
    (folder / "tasks" / cell.task_set / cell.task).mkdir(parents=True, exist_ok=True)
    (folder / "tasks" / cell.task_set / cell.task / "task.toml").touch()
    return Task(spec, block, cell, 1, folder, open_gate, None, price_book(None))


@pytest.fixture
def provider(tmp_path, monkeypatch):
    """A simulated provider, and the program `harbor` on the PATH."""
    program = tmp_path / "bin" / "harbor"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{STAND_IN}" "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setenv("HOUSE_KEY", "sk-house")
    with Simulator(ListScript(())).in_thread() as simulator:
        yield simulator


def run(spec: Spec, tmp_path: Path) -> Record:
    return Record.from_dict(perform(task_of(spec, tmp_path / "results")))


@pytest.mark.parametrize(("task", "resolved"), [("solved", True), ("unsolved", False)])
def test_a_run_is_measured_by_the_proxy_and_checked_by_its_job_folder(
    provider, tmp_path, task, resolved
):
    record = run(spec_of(provider.url, task=task), tmp_path)
    assert (record.resolved, record.end, record.steps) == (resolved, DONE, 3)
    assert record.usage.prompt == sum(record.calls.prompt) > 0
    assert record.prompts == tuple(sorted(record.prompts))
    assert record.billed_cost > 0
    assert record.window == 100_000
    assert [call.path for call in provider.calls] == ["/v1/chat/completions"] * 3


def test_at_its_limit_of_steps_a_run_says_so(provider, tmp_path):
    assert run(spec_of(provider.url, steps=3), tmp_path).end == STEPS


def test_a_tasks_own_limit_of_time_is_told_apart_from_an_end(provider, tmp_path):
    record = run(spec_of(provider.url, task="late"), tmp_path)
    assert (record.end, record.resolved) == (SECONDS, False)


def test_a_program_that_fails_is_an_error_with_its_last_words(provider, tmp_path):
    record = run(spec_of(provider.url, task="crash"), tmp_path)
    assert (record.end, record.resolved) == (ERROR, None)
    assert "the container cannot be built" in record.reason


def test_what_a_failed_run_was_billed_is_kept(provider, tmp_path):
    record = run(spec_of(provider.url, task="broken"), tmp_path)
    assert (record.end, record.steps) == (ERROR, 3)
    assert record.billed_cost > 0


def test_an_agent_that_asks_nothing_is_an_error(provider, tmp_path):
    record = run(spec_of(provider.url, task="silent"), tmp_path)
    assert record.end == ERROR
    assert "asked its model nothing" in record.reason


def test_a_program_that_takes_too_long_is_ended_with_all_that_it_started(provider, tmp_path):
    began = time.monotonic()
    record = run(spec_of(provider.url, task="slow", minutes=0.1), tmp_path)
    assert (record.end, record.steps) == (SECONDS, 3)
    assert time.monotonic() - began < 60


def test_a_program_that_is_not_there_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    record = run(spec_of(), tmp_path)
    assert record.reason == "there is no program `harbor` on the PATH"


def described(**changes: object) -> str:
    spec = spec_of(**changes)
    block = spec.blocks[0]
    cell = next(block.cells(block.tasks))
    task = Task(spec, block, cell, 1, Path("results"), open_gate, None, price_book(None))
    return "\n".join(SCAFFOLDS[block.scaffold].describe(run_of(task)))


TB = {"scaffold": "terminus-2", "task_set": "terminal-bench-2.0"}
CC = {"scaffold": "claude-code", "task_set": "terminal-bench-2.1"}
MINI = {"scaffold": "mini-swe-agent", "task_set": "swe-bench-verified"}


@pytest.mark.parametrize(
    ("changes", "there", "not_there"),
    [
        ({**TB, "strategy": "native", "threshold": 16_000}, '"max_input_tokens": 24000', "enable"),
        ({**TB, "strategy": "native", "threshold": 0}, '"max_input_tokens": 100000', "enable"),
        ({**TB, "strategy": "summary"}, "enable_summarize=false", "cuesta.integrations"),
        (
            {**TB, "strategy": "cliff"},
            "cuesta.integrations.harbor:CuestaTerminus2",
            "enable_summarize",
        ),
        (
            {**TB, "strategy": "cliff", "more": 'via = "proxy"'},
            "enable_summarize=false",
            "cuesta.integrations",
        ),
        (
            {**CC, "strategy": "native", "threshold": 45_000},
            "CLAUDE_CODE_AUTO_COMPACT_WINDOW=45000",
            "DISABLE_AUTO_COMPACT",
        ),
        ({**CC, "strategy": "cliff"}, "DISABLE_AUTO_COMPACT=1", "AUTO_COMPACT_WINDOW"),
        (
            {**MINI, "strategy": "cliff", "threshold": 8_000},
            '{"threshold": 8000, "profile": "paper"}',
            "sk-",
        ),
        ({**MINI, "strategy": "micro_summary"}, "api_base=PROXY/v1", "cuesta.integrations"),
    ],
)
def test_what_is_started_follows_the_strategy(changes, there, not_there):
    text = described(**changes)
    assert there in text
    assert not_there not in text


def test_only_the_proxy_compacts_where_no_adapter_does():
    for strategy, via, expected in (
        ("cliff", "", "keep_all"), ("cliff", 'via = "proxy"', "cliff"),
        ("native", "", "keep_all"), ("sliding_window", "", "sliding_window"),
    ):  # fmt: skip
        spec = spec_of(strategy=strategy, more=via)
        block = spec.blocks[0]
        cell = next(block.cells(block.tasks))
        task = Task(spec, block, cell, 1, Path("results"), open_gate, None, price_book(None))
        run = run_of(task)
        adapter = "cuesta.integrations" in described(strategy=strategy, more=via)
        assert run.gate_options(compacts=not adapter).strategy == expected


def test_swe_benchs_report_says_what_is_resolved(tmp_path):
    from cuesta.experiments.scaffolds import mini_swe_agent  # noqa: PLC0415 - its reader alone

    run = run_of(task_of(spec_of(**MINI, task="a__b-1"), tmp_path))
    run.folder.mkdir(parents=True)
    assert mini_swe_agent._resolved(run) is None
    report = run.folder / "openai__kimi.cuesta.json"
    report.write_text('{"resolved_ids": ["a__b-1"]}')
    assert mini_swe_agent._resolved(run) is True
    report.write_text('{"resolved_ids": []}')
    assert mini_swe_agent._resolved(run) is False
