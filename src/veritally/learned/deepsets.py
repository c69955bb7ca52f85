"""The paper's network: Deep Sets, which encode each voter, sum over voters, and decode.

Every layer is Γ(x − λ(x)): each alternative less the maximum or mean of all, times a matrix, the same for each.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, TypeAlias

from veritally.arrays import Array, in_pieces, namespace
from veritally.checks import whole
from veritally.errors import InputError
from veritally.learned.layers import Parameters, Shapes, layer_shapes, linear, max_over, mean_over, relu
from veritally.rules.sums import Encoder, Encoding
from veritally.votes.ballots import Ballots
from veritally.votes.labels import require_known

FEATURES = 2
LARGEST_COUNT = 50.0  # by which the paper divides counts
_AT_ONCE = 1 << 13  # votes whose hidden values stay in the cache
_POOLS = {"max": max_over, "mean": mean_over}

Pool: TypeAlias = Literal["max", "mean"]
Sum: TypeAlias = Literal["sum", "mean"]


@dataclass(frozen=True)
class Configuration:
    """The shape of a network; by default the paper's.

    Attributes
    ----------
    encoder_layers, decoder_layers
        Hidden layers before and after the sum over voters.
    pool
        λ, what each layer takes off: ``max`` or ``mean`` over the alternatives.
    total
        Σ, how voters are put together: ``sum`` or ``mean``.
    width
        Of the hidden layers.
    """

    encoder_layers: int = 4
    decoder_layers: int = 2
    pool: Pool = "max"
    total: Sum = "sum"
    width: int = 64

    def __post_init__(self) -> None:
        for name, least in (("encoder_layers", 0), ("decoder_layers", 0), ("width", 1)):
            object.__setattr__(self, name, whole(getattr(self, name), name.replace("_", " "), least=least, most=4096))
        for name, known in (("pool", tuple(_POOLS)), ("total", ("sum", "mean"))):
            require_known(str(getattr(self, name)), known, name)

    def shapes(self) -> Shapes:
        """Return the shapes of all parameters."""
        hidden = [self.width]
        return {
            **layer_shapes("encoder", [FEATURES, *hidden * self.encoder_layers, 1]),
            **layer_shapes("decoder", [1, *hidden * self.decoder_layers, 1]),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python objects."""
        return asdict(self)

    @classmethod
    def from_dict(cls, given: Any) -> "Configuration":
        """Undo :meth:`to_dict`; refuse what is none."""
        names = {own.name for own in fields(cls)}
        if not isinstance(given, dict) or set(given) != names:
            raise InputError(f"the configuration of a network needs exactly {', '.join(sorted(names))}")
        return cls(**given)


def configurations() -> Iterator[tuple[Configuration, float]]:
    """Yield the paper's search space: 144 configurations with their learning rates."""
    for rate in (3e-3, 1e-3, 3e-4, 1e-4):
        for encoder in (2, 3, 4):
            for decoder in (0, 1, 2):
                for pool in _POOLS:
                    for total in ("mean", "sum"):
                        yield Configuration(encoder, decoder, pool, total), rate  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class DeepSets(Encoder):
    """The network with its weights: an encoder of ballots, and a decoder of tallies."""

    configuration: Configuration
    parameters: Parameters = field(repr=False)

    def __call__(self, ballots: Ballots) -> Encoding:
        """Encode each voter; one who does not put one alternative above another says nothing."""
        ranks, counts = ballots.votes, ballots.counts
        xp = namespace(counts)
        seen = ranks > 0
        length = xp.sum(xp.astype(seen, counts.dtype), axis=-1, keepdims=True)
        compares = (ballots.effective_multiplicity > 0)[..., None]
        compared = seen & compares
        place = xp.where(compared, (length - ranks) / xp.where(compares, length - 1, 1), 0)
        *batch, n = counts.shape
        flat = xp.stack([counts / LARGEST_COUNT, place], axis=-1).reshape(-1, n, FEATURES)
        mask = compared.reshape(-1, n)
        layers = self.configuration.encoder_layers
        pieces = in_pieces(counts, len(flat), _AT_ONCE // n)
        encoded = xp.concat([self._apply("encoder", flat[piece], mask[piece], layers) for piece in pieces])
        encoded = xp.where(compared, encoded.reshape(*batch, n), 0)
        return Encoding(encoded, xp.broadcast_to(xp.astype(compares, encoded.dtype), encoded.shape))

    def decode(self, tally: Array, mask: Array) -> Array:
        """Return the logits of being the best, −inf outside ``mask``."""
        xp = namespace(tally)
        out = self._apply("decoder", xp.where(mask, tally, 0)[..., None], mask, self.configuration.decoder_layers)
        return xp.where(mask, out, -xp.inf)

    def _apply(self, name: str, hidden: Array, mask: Array, layers: int) -> Array:
        """Apply the layers of the encoder or the decoder, the last without a nonlinearity."""
        pool = _POOLS[self.configuration.pool]
        for k in range(layers + 1):
            hidden = linear(self.parameters, f"{name}.{k}", hidden - pool(hidden, mask))
            hidden = relu(hidden) if k < layers else hidden
        return hidden[..., 0]
