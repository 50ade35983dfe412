"""The matrix: killed, it goes on where it was; limits stop it; failures are tried again."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import replace

import pytest
from experiment_support import means, no_gate, own

from cuesta.core.errors import ConfigError
from cuesta.experiments.matrix import run_matrix
from cuesta.experiments.record import DONE, ERROR, Record, read_records
from cuesta.jobs.errors import ResumeError
from cuesta.jobs.executors import LocalPool

# The agent of this task and these seeds is the sloppy one: six calls.
SPEC = """
[limits]
steps = 30
parallel = 2
[[matrix]]
scaffold = "own"
task-set = "own"
models = ["claude-opus-5-5"]
strategies = ["keep_all", "cliff", "sliding_window"]
thresholds = [16_000, 12_000]
tasks = ["cent-rounder"]
seeds = [0, 6]
"""
TIMES_OUT = 120


def lines(folder) -> list[str]:
    file = folder / "records.jsonl"
    return file.read_text().splitlines() if file.is_file() else []


def command(spec, folder) -> list[str]:
    verb = ["experiment", "run", str(spec), "--results", str(folder), "--json"]
    return [sys.executable, "-m", "cuesta.cli.main", *verb]


def test_killed_in_the_middle_it_goes_on_without_doing_anything_twice(tmp_path):
    spec, folder = tmp_path / "killed.toml", tmp_path / "results"
    spec.write_text(SPEC)
    process = subprocess.Popen(command(spec, folder), stderr=subprocess.PIPE, text=True)
    with process, process.stderr as told:
        assert any(line.startswith("3 of 10") for line in told)
        process.send_signal(signal.SIGKILL)
    before = lines(folder)
    assert 3 <= len(before) < 10
    done = subprocess.run(
        command(spec, folder), capture_output=True, text=True, check=False, timeout=TIMES_OUT
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["done"], told["total"], told["failed"]) == (10, 10, 0)
    after = lines(folder)
    assert after[: len(before)] == before
    assert len({json.loads(line)["key"] for line in after}) == len(after) == 10
    assert {r.cell.key for r in read_records(folder)} == {json.loads(x)["key"] for x in after}


def test_results_of_another_spec_are_never_mixed_in(tmp_path):
    run_matrix(own(), means(tmp_path))
    with pytest.raises(ResumeError, match="another `matrix 1`"):
        run_matrix(own(strategies='["cliff"]'), means(tmp_path))
    with pytest.raises(ResumeError, match="another `s"):
        run_matrix(own(steps="31"), means(tmp_path))


def test_a_limit_of_money_stops_before_the_next_run(tmp_path):
    spec = own(seeds="[0, 6]")
    limited = replace(spec, limits=replace(spec.limits, money=0.01))
    outcome = run_matrix(limited, means(tmp_path))
    assert (outcome.done, outcome.total, outcome.stopped_by) == (1, 2, "money")
    assert outcome.cost > 0.01


def test_only_some_runs_may_be_made_and_the_others_later(tmp_path):
    spec = own(strategies='["cliff", "keep_all"]', thresholds="[16_000]")
    outcome = run_matrix(spec, means(tmp_path, only=("cliff", "16K", "seed=0")))
    assert (outcome.done, outcome.total) == (1, 1)
    assert [r.cell.strategy for r in read_records(tmp_path)] == ["cliff"]
    assert run_matrix(spec, means(tmp_path)).total == 2
    assert {r.cell.strategy for r in read_records(tmp_path)} == {"cliff", "keep_all"}
    with pytest.raises(ConfigError, match="no run of small is kimi"):
        run_matrix(spec, means(tmp_path, only=("kimi",)))


def test_a_run_that_failed_is_made_again_and_its_last_attempt_counts(tmp_path):
    run_matrix(own(), means(tmp_path, open_gate=no_gate))
    (failed,) = read_records(tmp_path)
    assert (failed.end, failed.reason, failed.resolved) == (ERROR, "no port is free", None)
    run_matrix(own(), means(tmp_path))
    (record,) = read_records(tmp_path)
    assert (record.end, record.attempt) == (DONE, 2)
    assert len(lines(tmp_path)) == 2
    run_matrix(own(), means(tmp_path, open_gate=no_gate))
    assert len(lines(tmp_path)) == 2


def test_runs_in_other_processes_are_the_same_as_here(tmp_path):
    spec = own(seeds="2")
    run_matrix(spec, means(tmp_path / "here"))
    run_matrix(spec, means(tmp_path / "there", executor=LocalPool(2)))
    here, there = (
        sorted((r.cell, r.usage, r.resolved, r.calls.kinds) for r in read_records(tmp_path / name))
        for name in ("here", "there")
    )
    assert here == there


def test_a_record_is_read_as_it_was_written_and_of_newer_versions_not_at_all(tmp_path):
    run_matrix(own(strategies='["cliff"]', thresholds="[8_000]"), means(tmp_path))
    (line,) = lines(tmp_path)
    written = json.loads(line)["record"]
    record = Record.from_dict({**written, "something_new": 1})
    assert json.loads(json.dumps(record.to_dict())) == written
    with pytest.raises(ValueError, match="version 99"):
        Record.from_dict({**written, "v": 99})
    with pytest.raises(ValueError, match="no record of an experiment"):
        Record.from_dict({"v": 1})


def test_a_folder_without_results_is_told(tmp_path):
    with pytest.raises(ConfigError, match=r"no results here \(no records.jsonl\)"):
        read_records(tmp_path)
