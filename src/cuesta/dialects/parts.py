"""What content is on OpenAI's two wires: a string, or a list of typed parts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cuesta.core.errors import RequestError
from cuesta.core.meter import COMMON
from cuesta.core.transcript import Block, BlockKind, is_worth_clearing
from cuesta.dialects.pictures import UNKNOWN, Size, url_size

_TEXTS = frozenset({"text", "input_text", "output_text", "refusal", "summary_text"})
_IMAGES = frozenset({"image_url", "input_image", "computer_screenshot"})
_FILES = frozenset({"file", "input_file", "input_audio"})
_LOW: Size = (512, 512)
FILE_TOKENS = 3000
"""A document or a recording whose size does not show."""


def parts_of(content: object, text_type: str) -> list[dict[str, Any]]:
    """Return content as parts: a string is one text part of the given type.

    Raises:
        RequestError: If it is neither a string nor a list of objects.
    """
    if content is None:
        return []
    if isinstance(content, str):
        return [{"type": text_type, "text": content}]
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        return content
    raise RequestError("`content` is neither a string nor a list of parts")


def part_text(part: Mapping[str, Any]) -> str:
    """Return a text part's text, or nothing."""
    if str(part.get("type")) in _TEXTS:
        return str(part.get("text") or part.get("refusal") or "")
    return ""


def part_weight(part: Mapping[str, Any]) -> int:
    """Estimate the tokens of a part that is neither text nor image."""
    kind = str(part.get("type"))
    if kind in _TEXTS | _IMAGES:
        return 0
    return FILE_TOKENS if kind in _FILES else COMMON.text(json.dumps(part))


def pictures(parts: Iterable[Mapping[str, Any]]) -> tuple[Size, ...]:
    """Return the sizes of the images among parts."""
    return tuple(_picture(part) for part in parts if str(part.get("type")) in _IMAGES)


def _picture(part: Mapping[str, Any]) -> Size:
    """Return an image's size; of one sent with `detail: low` the provider looks at a small copy."""
    image = part.get("image_url")
    outer = image if isinstance(image, dict) else {"url": image, "detail": part.get("detail")}
    if outer.get("detail") == "low":
        return _LOW
    url = outer.get("url")
    return url_size(url) if isinstance(url, str) else UNKNOWN


def is_media(part: Mapping[str, Any]) -> bool:
    """Tell whether a part is an image, a document or a recording."""
    return str(part.get("type")) in _IMAGES | _FILES


def is_clearable(parts: Sequence[Mapping[str, Any]], result: Block) -> bool:
    """Tell whether an output is of text and media alone, and worth clearing."""
    plain = all(str(part.get("type")) in _TEXTS or is_media(part) for part in parts)
    return plain and is_worth_clearing(result)


def content_blocks(parts: list[dict[str, Any]]) -> list[Block]:
    """Read the parts of a message."""
    return [_block(part) for part in parts]


def _block(part: Mapping[str, Any]) -> Block:
    kind = str(part.get("type"))
    if kind in _TEXTS:
        return Block(BlockKind.TEXT, (part_text(part),))
    media = BlockKind.MEDIA if is_media(part) else BlockKind.OPAQUE
    return Block(media, name=kind, weight=part_weight(part), pictures=pictures([part]))


def result_block(call_id: str, parts: list[dict[str, Any]], *, error: bool = False) -> Block:
    """Read a call's output."""
    texts = (part_text(part) for part in parts)
    return Block(
        BlockKind.RESULT,
        tuple(text for text in texts if text),
        call_id=call_id,
        error=error,
        media=sum(map(is_media, parts)),
        weight=sum(map(part_weight, parts)),
        pictures=pictures(parts),
    )


def arguments_of(text: object) -> Mapping[str, object]:
    """Read a call's arguments: JSON in a string; any other text stands under `input`."""
    if isinstance(text, dict):
        return text
    try:
        value = json.loads(str(text or "{}"))
    except (ValueError, RecursionError):
        return {"input": str(text)}
    return value if isinstance(value, dict) else {"input": str(text)}
