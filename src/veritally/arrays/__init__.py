"""The array library in use (NumPy or JAX) and the few functions the array API standard lacks.

Numerical code elsewhere asks :func:`namespace` for the library of its arguments and writes to the standard. Nothing
outside of this package knows the libraries by name.
"""

from veritally.arrays.libraries import (
    Array,
    Shape,
    array_library,
    as_floating,
    in_double,
    is_jax,
    is_traced,
    namespace,
    require_jax,
)
from veritally.arrays.loops import for_loop, if_any, possible, through_numpy, trajectory, while_loop
from veritally.arrays.pieces import by_alternative, by_cost, in_pieces, keep_memory
from veritally.arrays.products import (
    gathered,
    inner,
    inner_product,
    over_alternatives,
    over_voters,
    product,
    voter_sum,
)
from veritally.arrays.programs import (
    compile_for,
    device_memory,
    device_name,
    fetch,
    is_out_of_memory,
    jit,
    leaves,
    map_leaves,
    result_shapes,
    value_and_gradient,
    vmap,
    with_leaves,
)
from veritally.arrays.random import Random, normals, part_of_key, random_key, seed_of_key, split_key
from veritally.arrays.special import log_ndtr, log_softmax, midranks, ndtr, ndtri, normal_scores

__all__ = [
    "Array",
    "Random",
    "Shape",
    "array_library",
    "as_floating",
    "by_alternative",
    "by_cost",
    "compile_for",
    "device_memory",
    "device_name",
    "fetch",
    "for_loop",
    "gathered",
    "if_any",
    "in_double",
    "in_pieces",
    "inner",
    "inner_product",
    "is_jax",
    "is_out_of_memory",
    "is_traced",
    "jit",
    "keep_memory",
    "leaves",
    "log_ndtr",
    "log_softmax",
    "map_leaves",
    "midranks",
    "namespace",
    "ndtr",
    "ndtri",
    "normal_scores",
    "normals",
    "over_alternatives",
    "over_voters",
    "part_of_key",
    "possible",
    "product",
    "random_key",
    "require_jax",
    "result_shapes",
    "seed_of_key",
    "split_key",
    "through_numpy",
    "trajectory",
    "value_and_gradient",
    "vmap",
    "voter_sum",
    "while_loop",
    "with_leaves",
]
