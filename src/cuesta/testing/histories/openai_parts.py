"""What OpenAI's two wires share: how a result's content and a picture are written."""

from __future__ import annotations

from cuesta.testing.histories.features import Feature
from cuesta.testing.histories.style import Block

COMMON = frozenset({
    Feature.PARALLEL_CALLS, Feature.IMAGES, Feature.EMPTY_RESULTS, Feature.MID_SYSTEM,
    Feature.FORKS, Feature.EDITS, Feature.REWINDS, Feature.UNKNOWN_BLOCKS, Feature.HUMAN_MESSAGES,
    Feature.REMINDERS, Feature.GROWING_LAST, Feature.PARTIAL_TURNS, Feature.ERRORS,
    Feature.UNICODE, Feature.TOOLS_CHANGE, Feature.LONG_RESULTS, Feature.TINY_TURNS,
    Feature.RETRIES, Feature.SIDE_CALLS, Feature.RESUME, Feature.ODD_JSON, Feature.PART_OUTPUTS,
})  # fmt: skip
"""What can occur on both."""


def data_url(picture: Block) -> str:
    """Return a picture as a URL that holds it."""
    source = picture["source"]
    return f"data:{source['media_type']};{source['type']},{source['data']}"


def function(tool: Block) -> Block:
    """Return a tool's name, description and parameters, the name as these wires' clients write it.

    They name their own tools in lower case.
    """
    return {
        "name": tool["name"].lower(),
        "description": tool["description"],
        "parameters": tool["input_schema"],
    }


def functions(tools: list[Block]) -> list[Block]:
    """Return the client's tools that are offered from the beginning."""
    offered = (tool for tool in tools if "type" not in tool and not tool.get("defer_loading"))
    return [function(tool) for tool in offered]


def joined(blocks: list[Block]) -> str:
    """Return the texts among blocks as one."""
    return "\n".join(block["text"] for block in blocks if block["type"] == "text")
