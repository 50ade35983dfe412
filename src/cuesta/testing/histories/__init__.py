"""Growing conversations as agent programs send them, on the wires of Anthropic and OpenAI.

For proving that a proxy never makes a valid request invalid: a client and a model that are both
made up, but whose bodies have the shapes, the habits and the accidents of the real ones. Everything
follows from one seed. The Hypothesis strategies stand apart, in the module `hypothesis` of this
package, so that the package needs the standard library only.
"""

from cuesta.testing.histories.client import ClientHistory, WireName
from cuesta.testing.histories.features import Feature
from cuesta.testing.histories.model import Mint
from cuesta.testing.histories.style import Block

__all__ = ["Block", "ClientHistory", "Feature", "Mint", "WireName"]
