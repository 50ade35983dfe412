"""Where each rule of Chat Completions was read."""

from types import MappingProxyType

_REFERENCE = "https://platform.openai.com/docs/api-reference/chat/create"

SOURCES = MappingProxyType(
    {
        "authentication": "openai/openai-cookbook#2347",
        "body": _REFERENCE,
        "size": "https://platform.openai.com/docs/guides/images-vision; vm0-ai/vm0#34178; "
        "openai/codex#7682",
        "surrogate": "anomalyco/opencode#14630; JohnnyZ93/oai-compatible-copilot#206",
        "fields": _REFERENCE,
        "unknown": _REFERENCE + "; shinpei710/ccr-plugin-openai-res#2",
        "roles": _REFERENCE,
        "parts": _REFERENCE,
        "empty": _REFERENCE,
        "assistant": "carlrobertoh/ProxyAI#834",
        "call-shape": "camel-ai/camel#2215; anomalyco/opencode#12653",
        "arguments": "HKUDS/nanobot#1487",
        "unique-ids": "anomalyco/opencode#50145",
        "pairing": "aliasrobotics/cai#111; sdcb/chats#132",
        "unexpected-result": "miurla/morphic#136; camel-ai/camel#3339",
        "unknown-result": "dapr/dapr-agents#145",
        "single-result": "agno-agi/agno#5116; anomalyco/opencode#1211",
        "reasoning": "https://api-docs.deepseek.com/guides/thinking_mode; "
        "zed-industries/zed#55321; earendil-works/pi#3636",
        "template": "vllm-project/vllm#41114, #6862; raullenchai/Rapid-MLX#1543",
        "window": "chathub-dev/chathub#126; xtekky/gpt4free#137",
    }
)
"""The page or the thread that a rule was read in, by the rule's name."""
