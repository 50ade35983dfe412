"""Where each rule of Responses was read."""

from types import MappingProxyType

_REFERENCE = "https://platform.openai.com/docs/api-reference/responses/create"

SOURCES = MappingProxyType(
    {
        "authentication": "openai/openai-cookbook#2347; openai/codex#39883; "
        "Lingtai-AI/lingtai-kernel#454",
        "body": _REFERENCE,
        "size": "https://platform.openai.com/docs/guides/images-vision; openai/codex#7682",
        "surrogate": "anomalyco/opencode#14630",
        "fields": _REFERENCE + "; lidge-jun/opencodex#4673; 10/chatgpt-codex-proxy#9",
        "unknown": _REFERENCE + "; Menci/Floway#93",
        "roles": _REFERENCE,
        "kinds": _REFERENCE + "; CommandCodeAI/command-code#893",
        "parts": "jeremychone/rust-genai#119",
        "empty": _REFERENCE,
        "ids": "openai/codex#33176; BigPizzaV3/CodexPlusPlus#1894",
        "lengths": "decolua/9router#393; AnswerDotAI/fastllm#45",
        "duplicate": "vercel/ai#13307; OpenRouterTeam/ai-sdk-provider#254",
        "pairing": "router-for-me/CLIProxyAPI#2368; diegosouzapw/OmniRoute#8946",
        "unexpected-result": "continuedev/continue#10092; microsoft/vscode#320060",
        "following-item": "vercel/ai#7099; continuedev/continue#8933",
        "reasoning-item": "VRSEN/agency-swarm#367; mastra-ai/mastra#8738; "
        "https://community.openai.com/t/1355347",
        "reasoning-content": "querymt/querymt#976",
        "encrypted": "Wei-Shaw/sub2api#2863; openai/codex#35334; "
        "smallmain/vscode-unify-chat-provider#178",
        "not-found": "can1357/oh-my-pi#41; anomalyco/opencode#7724",
        "previous": "bigduu/Bamboo-agent#513; maximhq/bifrost#2441",
        "trigger": "router-for-me/CLIProxyAPI#5041; ranxianglei/billion-context#283",
        "window": "dyad-sh/dyad#1672; the-open-agent/openagent#2344",
    }
)
"""The page or the thread that a rule was read in, by the rule's name."""
