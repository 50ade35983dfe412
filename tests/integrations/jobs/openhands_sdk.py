"""An agent of the OpenHands SDK with its own tools, by script."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from openhands.sdk import LLM, Agent, Conversation
from openhands.sdk.conversation.state import ConversationExecutionStatus
from openhands.sdk.event import Condensation
from openhands.tools.preset.default import get_default_tools
from pydantic import SecretStr
from work import TASK, Job, job, look

from cuesta.core.digest import OPENING
from cuesta.integrations.openhands import CuestaCondenser

_PAGES = 32


def _agent(asked: Job) -> Agent:
    condenser = None
    if asked.options is not None:
        options = {key: value for key, value in asked.options.items() if key != "harness"}
        condenser = CuestaCondenser(**options)
    llm = LLM(
        model="openai/mock-model",
        base_url=f"{asked.url}/v1",
        api_key=SecretStr("sk-none"),
        usage_id="agent",
        num_retries=0,
    )
    return Agent(llm=llm, tools=get_default_tools(enable_browser=False), condenser=condenser)


def _seen(conversation: Any, agent: Agent) -> Any:
    """Return what was counted; see that the log is whole."""
    events = list(conversation.state.events)
    notes = [event for event in events if isinstance(event, Condensation)]
    assert not any(note.forgotten_event_ids for note in notes)
    assert all(note.summary and note.summary.startswith(OPENING) for note in notes)
    told = json.dumps(
        [e.model_dump(mode="json") for e in events if not isinstance(e, Condensation)]
    )
    assert OPENING not in told
    assert told.count("The heron of lot") > _PAGES * 40
    if agent.condenser is None:
        return None
    adapter = agent.condenser.adapter
    assert len(notes) == adapter.cliffs, (len(notes), adapter.cliffs)
    return SimpleNamespace(cliffs=len(notes), failures=adapter.failures)


def main() -> None:
    """Do a row's job."""
    asked = job()
    # The same folder in each run: the tools tell its name.
    place = Path(tempfile.gettempdir()) / "cuesta-openhands-job"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for page in range(_PAGES):
        (place / f"page-{page}.txt").write_text(look(page) + "\n")
    agent = _agent(asked)
    conversation = Conversation(agent, workspace=str(place), visualizer=None)
    conversation.send_message(TASK)
    conversation.run()
    assert conversation.state.execution_status == ConversationExecutionStatus.FINISHED
    seen = _seen(conversation, agent)
    conversation.close()
    shutil.rmtree(place)
    asked.done(seen)


if __name__ == "__main__":
    main()
