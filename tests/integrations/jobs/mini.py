"""mini-swe-agent by its own command lines: `mini`, and the SWE-bench runner on a task of our own.

The package is imported once the environment is set, which it reads when it is imported.
"""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml
from work import TASK, Job, job, look

from cuesta.core.digest import OPENING

_PAGES = 32
_MODEL = "openai/mock-model"
_CLASSES = {
    "mini": "cuesta.integrations.mini_swe_agent.CuestaModel",
    "mini-text": "cuesta.integrations.mini_swe_agent.CuestaTextModel",
    "mini-responses": "cuesta.integrations.mini_swe_agent.CuestaResponseModel",
    "mini-swebench": "cuesta.integrations.mini_swe_agent.CuestaModel",
    "mini-1": "cuesta.integrations.mini_swe_agent_1.CuestaModel",
    "mini-1-swebench": "cuesta.integrations.mini_swe_agent_1.CuestaModel",
}
_PLAIN = {"mini-text": "litellm_textbased", "mini-responses": "litellm_response"}


def _configuration(asked: Job) -> str:
    """Write the package's own configuration with another model class, and return its path."""
    first = asked.name.startswith("mini-1")
    builtin = import_module("minisweagent.config").builtin_config_dir
    names = {
        "mini-text": "mini_textbased.yaml",
        "mini-swebench": "benchmarks/swebench.yaml",
        "mini-1-swebench": "extra/swebench.yaml",
    }
    config = yaml.safe_load((builtin / names.get(asked.name, "mini.yaml")).read_text())
    model = config.setdefault("model", {})
    model["model_name"] = _MODEL
    model["model_class"] = _PLAIN.get(asked.name, "litellm")
    if asked.options is not None:
        model["model_class"] = _CLASSES[asked.name]
        model["cuesta"] = {k: v for k, v in asked.options.items() if k != "harness"}
    if asked.name.endswith("swebench"):
        config["environment"] = {"environment_class": "local", "env": {"PAGER": "cat"}}
        if first:
            config["environment"]["cwd"] = str(Path.cwd())
    path = Path("config.yaml")
    path.write_text(yaml.safe_dump(config))
    return str(path)


def _mini(asked: Job) -> Path:
    """Run `mini`."""
    out = Path("trajectory.json")
    command = ["-c", _configuration(asked), "-t", TASK, "-y", "--exit-immediately", "-o", str(out)]
    import_module("minisweagent.run.mini").app(command, standalone_mode=False)
    return out


def _swebench(asked: Job) -> Path:
    """Run the SWE-bench runner on one task that lies in a file."""
    first = asked.name.startswith("mini-1")
    app = import_module(f"minisweagent.run.{'extra' if first else 'benchmarks'}.swebench").app
    Path("tasks").mkdir()
    task = {"instance_id": "own__own-1", "problem_statement": TASK}
    Path("tasks/test.jsonl").write_text(json.dumps(task) + "\n")
    command = ["-c", _configuration(asked), "--subset", "tasks", "--split", "test", "-o", "out"]
    app(command, standalone_mode=False)
    return Path("out/own__own-1/own__own-1.traj.json")


def _said(path: Path, asked: Job) -> Any:
    """Return what the trajectory says of Cuesta; see that it holds the whole history."""
    trajectory = json.loads(path.read_text())
    assert OPENING not in json.dumps(trajectory["messages"])
    assert len(trajectory["messages"]) >= 2 * _PAGES
    if asked.options is None:
        return None
    info = trajectory["info"]
    kept = info.get("cuesta") or info["config"]["model"]["cuesta"]
    assert kept["threshold"] == asked.options["threshold"]
    return SimpleNamespace(cliffs=len(kept["cliffs"]), failures=kept["failures"])


def main() -> None:
    """Do a row's job."""
    asked = job()
    os.environ |= {
        "MSWEA_CONFIGURED": "true",
        "MSWEA_SILENT_STARTUP": "1",
        "MSWEA_COST_TRACKING": "ignore_errors",
        "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "1",
        "OPENAI_API_BASE": f"{asked.url}/v1",
        "OPENAI_BASE_URL": f"{asked.url}/v1",
        "HF_HUB_OFFLINE": "1",
    }
    for page in range(_PAGES):
        Path(f"page-{page}.txt").write_text(look(page) + "\n")
    path = _swebench(asked) if asked.name.endswith("swebench") else _mini(asked)
    asked.done(_said(path, asked))


if __name__ == "__main__":
    main()
