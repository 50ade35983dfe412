"""A real engine on a tiny random model: llama.cpp's server, to hold the lab's cache model to.

Comes with the extra `engine`. Nothing is downloaded: the model is made here, its weights are noise.
"""

from cuesta.testing.engine.model import MARKS, NANO, TINY, WIDE, Shape, write_model
from cuesta.testing.engine.server import Completion, EngineError, EngineServer

__all__ = [
    "MARKS",
    "NANO",
    "TINY",
    "WIDE",
    "Completion",
    "EngineError",
    "EngineServer",
    "Shape",
    "write_model",
]
