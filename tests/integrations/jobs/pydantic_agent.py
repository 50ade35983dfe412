"""An agent of pydantic-ai with the capability, on Chat Completions and on Anthropic Messages."""

from __future__ import annotations

from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import UsageLimits
from work import MODELS, SYSTEM, TASK, job, look

from cuesta.integrations.pydantic_ai import CliffHistory


def main() -> None:
    """Do a row's job."""
    asked = job()
    if asked.name.endswith("anthropic"):
        talk = AsyncAnthropic(base_url=asked.url, max_retries=0)
        provider = AnthropicProvider(anthropic_client=talk)
        model = AnthropicModel(MODELS["anthropic"], provider=provider)
    else:
        client = AsyncOpenAI(base_url=f"{asked.url}/v1", max_retries=0)
        model = OpenAIChatModel(MODELS["openai"], provider=OpenAIProvider(openai_client=client))
    fold = None if asked.options is None else CliffHistory(**asked.options)
    agent = Agent(model, system_prompt=SYSTEM, capabilities=[fold] if fold else [])

    @agent.tool_plain(name="look")
    def look_tool(page: int) -> str:
        """Read one page."""
        return look(page)

    end = agent.run_sync(TASK, usage_limits=UsageLimits(request_limit=None))
    assert len(end.all_messages()) > 60
    asked.done(fold and fold.adapter)


if __name__ == "__main__":
    main()
