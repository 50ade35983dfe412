"""Write a tiny model as vLLM loads it with `--load-format dummy`: no weights, one token a byte.

Usage: python scripts/vllm_model.py FOLDER. The recipe that needs it stands in docs/engines.md.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from cuesta.testing.engine.model import CONTEXT, MARKS, WIDE, byte_symbols

_TOKENS = [*byte_symbols(), *(f"#{mark}" for mark in MARKS)]
_BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}

_FILES: dict[str, dict[str, Any]] = {
    "config.json": {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": WIDE.width,
        "intermediate_size": WIDE.hidden,
        "num_hidden_layers": WIDE.layers,
        "num_attention_heads": WIDE.heads,
        "num_key_value_heads": 1,
        "head_dim": WIDE.head_width,
        "hidden_act": "silu",
        "max_position_embeddings": CONTEXT,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10_000.0,
        "tie_word_embeddings": False,
        "torch_dtype": "float32",
        "vocab_size": len(_TOKENS),
        "bos_token_id": MARKS[-2],
        "eos_token_id": MARKS[-1],
    },
    "tokenizer.json": {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": _BYTES,
        "post_processor": None,
        "decoder": _BYTES,
        "model": {
            "type": "BPE",
            "vocab": {token: number for number, token in enumerate(_TOKENS)},
            "merges": [],
        },
    },
    "tokenizer_config.json": {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": _TOKENS[-1],
        "model_max_length": CONTEXT,
    },
}


def main(folder: Path) -> None:
    """Write the files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in _FILES.items():
        (folder / name).write_text(json.dumps(content, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
