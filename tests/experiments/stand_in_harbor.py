"""Stands in for the program `harbor`: takes its command line, asks the model, leaves a job folder.

How it behaves is chosen by the task's name: `solved`, `unsolved`, `crash`,
`broken`, `silent`, `late` or `slow`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import urllib.request
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=["run"])
    for flag in ("--yes", "--quiet"):
        parser.add_argument(flag, action="store_true", required=True)
    for flag in ("--path", "--jobs-dir", "--job-name", "--n-concurrent", "--agent", "--model",
                 "--base-url", "--api-key-name"):  # fmt: skip
        parser.add_argument(flag, required=True)
    for flag in ("--agent-kwarg", "--agent-env"):
        parser.add_argument(flag, action="append", default=[])
    said = parser.parse_args()
    task = Path(said.path)
    assert (task / "task.toml").is_file()
    if task.name == "crash":
        sys.exit("the container cannot be built")
    if task.name != "silent":
        for number in range(3):
            ask(said, number)
    if task.name == "broken":
        sys.exit("the container is gone")
    if task.name == "slow":
        time.sleep(600)
    leave(said, task.name)


def ask(said: argparse.Namespace, number: int) -> None:
    content = "Repair it. " + "More of the terminal. " * 40 * number
    body = {
        "model": said.model.partition("/")[2],
        "messages": [{"role": "user", "content": content}],
    }
    headers = {
        "authorization": f"Bearer {os.environ[said.api_key_name]}",
        "content-type": "application/json",
    }
    request = urllib.request.Request(
        f"{said.base_url}/chat/completions", json.dumps(body).encode(), headers
    )
    urllib.request.urlopen(request, timeout=30).read()


def leave(said: argparse.Namespace, task: str) -> None:
    trial = Path(said.jobs_dir) / said.job_name / f"{task}__abc"
    trial.mkdir(parents=True)
    rewards = {"reward": 1.0 if task == "solved" else 0.0}
    result = {"task_name": task, "verifier_result": {"rewards": rewards}}
    if task == "late":
        result["exception_info"] = {"exception_type": "AgentTimeoutError", "exception_message": "x"}
    (trial / "result.json").write_text(json.dumps(result))


main()
