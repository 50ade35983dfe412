"""A tiny random model as llama.cpp loads it: Llama's architecture, one token a byte."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from cuesta.core.errors import ConfigError

BYTES = 256
MARKS = range(BYTES, 512)
"""Tokens that no answer holds: a text that begins with one differs from every answer at once."""

CONTEXT = 131_072
"""Most tokens that a model may see."""
_SPREAD = 0.05
_SEED = 1
_NORMAL = 1
"""GGUF's type of tokens that are plain text."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How large a model is.

    Attributes:
        width: Size of a token's embedding.
        heads: Attention heads; they share one head's keys and values.
        head_width: Size of a head.
        hidden: Size of the feed-forward part; the wider, the smaller attention's share of the work.
        layers: At least 2: llama.cpp leaves out the last one's feed-forward part for all tokens of
            a prompt but the last, so that one layer alone would cost next to nothing.
    """

    width: int
    heads: int
    head_width: int
    hidden: int
    layers: int = 2


TINY = Shape(width=32, heads=1, head_width=32, hidden=64)
"""0.1 MB: for tests."""
NANO = Shape(width=128, heads=2, head_width=64, hidden=256)
"""1 MB. Nearly all of its work at long contexts is attention."""
WIDE = Shape(width=256, heads=1, head_width=64, hidden=4096)
"""13 MB. Attention's share of the work is small, as in large models."""


def need(module: str) -> Any:  # noqa: ANN401 - untyped packages
    """Return a module of the extra `engine`.

    Raises:
        ConfigError: If it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ConfigError(f"{module} is not installed: pip install 'cuesta[engine]'") from error


def write_model(path: Path, shape: Shape = TINY) -> Path:
    """Write a model as a GGUF file and return its path; the same bytes for the same shape.

    Raises:
        ConfigError: If the extra `engine` is not installed.
    """
    writer = need("gguf").GGUFWriter(path, "llama")
    _describe(writer, shape)
    _tokenizer(writer)
    _weights(writer, shape)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _describe(writer: Any, shape: Shape) -> None:  # noqa: ANN401 - of an untyped package
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.hidden)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(1)
    writer.add_key_length(shape.head_width)
    writer.add_value_length(shape.head_width)
    writer.add_rope_dimension_count(shape.head_width)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(MARKS.stop)


def _tokenizer(writer: Any) -> None:  # noqa: ANN401 - of an untyped package
    tokens = [*byte_symbols(), *(f"#{mark}" for mark in MARKS)]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([_NORMAL] * len(tokens))
    writer.add_token_merges(["a b"])
    writer.add_eos_token_id(MARKS[-1])
    writer.add_add_bos_token(False)


def byte_symbols() -> list[str]:
    """Return the character that stands for each byte in vocabularies of GPT-2's kind."""
    plain = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in plain else next(others)) for byte in range(BYTES)]


def _weights(writer: Any, shape: Shape) -> None:  # noqa: ANN401 - of an untyped package
    numpy = need("numpy")
    noise = numpy.random.default_rng(_SEED)
    attention = shape.heads * shape.head_width

    def add(name: str, rows: int, columns: int) -> None:
        values = noise.normal(0, _SPREAD, (rows, columns)).astype(numpy.float16)
        if name == "output":
            values[MARKS.start :] = 0  # some byte always has a logit above 0
        writer.add_tensor(f"{name}.weight", values)

    def add_norm(name: str) -> None:
        writer.add_tensor(f"{name}.weight", numpy.ones(shape.width, numpy.float32))

    add("token_embd", MARKS.stop, shape.width)
    add("output", MARKS.stop, shape.width)
    add_norm("output_norm")
    for layer in range(shape.layers):
        block = f"blk.{layer}"
        add_norm(f"{block}.attn_norm")
        add_norm(f"{block}.ffn_norm")
        add(f"{block}.attn_q", attention, shape.width)
        add(f"{block}.attn_k", shape.head_width, shape.width)
        add(f"{block}.attn_v", shape.head_width, shape.width)
        add(f"{block}.attn_output", shape.width, attention)
        for part in ("ffn_gate", "ffn_up"):
            add(f"{block}.{part}", shape.hidden, shape.width)
        add(f"{block}.ffn_down", shape.width, shape.hidden)
