"""What networks over voters and alternatives are built from, on plain arrays in the array API standard.

Parameters are a flat dictionary of arrays, ``name.w``, ``name.b``, …; hidden values ``(..., alternative, feature)``.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

from veritally.arrays import Array, Random, namespace, product
from veritally.learned.neighbours import Neighbours

Parameters: TypeAlias = Mapping[str, Array]
Shapes: TypeAlias = dict[str, tuple[int, ...]]


def relu(x: Array) -> Array:
    """Return x where it is positive, else 0."""
    xp = namespace(x)
    return xp.maximum(x, xp.asarray(0, dtype=x.dtype))


def linear(parameters: Parameters, name: str, x: Array) -> Array:
    """Multiply by the matrix of a layer and add its bias."""
    return product(x, parameters[f"{name}.w"]) + parameters[f"{name}.b"]


def mean_over(x: Array, mask: Array) -> Array:
    """Return the mean over the alternatives in ``mask``, ``(..., 1, feature)``; 0 where there are none."""
    xp = namespace(x)
    number = xp.sum(xp.astype(mask, x.dtype), axis=-1)[..., None, None]
    total = xp.sum(xp.where(mask[..., None], x, 0), axis=-2, keepdims=True)
    return total / xp.maximum(number, xp.asarray(1, dtype=x.dtype))


def max_over(x: Array, mask: Array) -> Array:
    """Return the maximum over the alternatives in ``mask``, ``(..., 1, feature)``; 0 where there are none."""
    xp = namespace(x)
    highest = xp.max(xp.where(mask[..., None], x, -xp.inf), axis=-2, keepdims=True)
    return xp.where(xp.isinf(highest), 0, highest)


def initial_parameters(shapes: Shapes, random: Random, spread: float = 1.0, biased: bool = True) -> dict[str, Array]:
    """Draw the parameters that training starts from: uniform within ± spread/√inputs; biases alike, or 0."""
    parameters = {}
    for name, shape in shapes.items():
        matrix = f"{name[:-1]}w" if name.endswith(".b") else name
        reach = spread / math.sqrt(shapes[matrix][0])
        parameters[name] = (2 * random.uniform(shape) - 1) * (reach if biased or len(shape) > 1 else 0.0)
    return parameters


BALLOT_LAYER, DECISION_LAYER = ("w", "above", "below", "mean"), ("w", "mean", "max")
"""The matrices of a layer along ballots, and of one across the alternatives of a decision."""


def layer_shapes(name: str, widths: Sequence[int], matrices: Sequence[str] = ("w",)) -> Shapes:
    """Return the shapes of layers of these widths, one after the other."""
    shapes: Shapes = {}
    for k, (inputs, outputs) in enumerate(pairwise(widths)):
        shapes |= {f"{name}.{k}.{matrix}": (inputs, outputs) for matrix in matrices}
        shapes[f"{name}.{k}.b"] = (outputs,)
    return shapes


def ballot_layer(parameters: Parameters, name: str, x: Array, neighbours: Neighbours) -> Array:
    """Apply a layer along each ballot: from each alternative, its neighbours in the order, and the mean of all."""
    hidden = linear(parameters, name, x)
    for part, mean in zip(("above", "below", "mean"), neighbours.means(x), strict=True):
        hidden = hidden + product(mean, parameters[f"{name}.{part}"])
    return relu(hidden)


def decision_layer(parameters: Parameters, name: str, x: Array, mask: Array) -> Array:
    """Apply a layer across the alternatives of a decision: from each of them, and the mean and maximum of all."""
    common = product(mean_over(x, mask), parameters[f"{name}.mean"])
    highest = product(max_over(x, mask), parameters[f"{name}.max"])
    return relu(linear(parameters, name, x) + common + highest)
