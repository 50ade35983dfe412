"""An agent of LangChain with the middleware, on Chat Completions and on Anthropic Messages."""

from __future__ import annotations

from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from work import MODELS, SYSTEM, TASK, job, look

from cuesta.integrations.langchain import CliffMiddleware


@tool("look")
def look_tool(page: int) -> str:
    """Read one page."""
    return look(page)


def main() -> None:
    """Do a row's job."""
    asked = job()
    if asked.name.endswith("anthropic"):
        model = ChatAnthropic(
            model=MODELS["anthropic"], base_url=asked.url, max_retries=0, max_tokens=16_000
        )
    else:
        model = ChatOpenAI(
            model=MODELS["openai"], base_url=f"{asked.url}/v1", max_retries=0,
            use_responses_api=asked.name.endswith("responses"),
        )  # fmt: skip
    middle = None if asked.options is None else CliffMiddleware(**asked.options)
    agent = create_agent(
        model, [look_tool], system_prompt=SYSTEM, middleware=[middle] if middle else []
    )
    told = {"messages": [{"role": "user", "content": TASK}]}
    end = agent.invoke(told, {"recursion_limit": 1000})
    assert len(end["messages"]) > 60
    asked.done(middle and middle.adapter)


if __name__ == "__main__":
    main()
