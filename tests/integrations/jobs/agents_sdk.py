"""An agent of the OpenAI Agents SDK, on the Responses wire and on Chat Completions."""

from __future__ import annotations

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from work import MODELS, SYSTEM, TASK, job, look

from cuesta.integrations.openai_agents import CliffFilter


@function_tool(name_override="look")
def look_tool(page: int) -> str:
    """Read one page."""
    return look(page)


def main() -> None:
    """Do a row's job."""
    asked = job()
    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=f"{asked.url}/v1", max_retries=0)
    chat = asked.name.endswith("chat")
    made = OpenAIChatCompletionsModel if chat else OpenAIResponsesModel
    model = made(model=MODELS["openai"], openai_client=client)
    agent = Agent(name="reader", instructions=SYSTEM, tools=[look_tool], model=model)
    fold = None if asked.options is None else CliffFilter(**asked.options)
    config = RunConfig(call_model_input_filter=fold)
    Runner.run_sync(agent, TASK, run_config=config, max_turns=100)
    asked.done(fold and fold.adapter)


if __name__ == "__main__":
    main()
