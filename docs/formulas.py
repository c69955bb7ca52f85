r"""The formulas of docstrings in LaTeX.

Docstrings hold them as plain text, so that ``help()`` shows ``s_ij² = σ_j²/c_ij``. The page of rules and the reference
typeset them. :data:`DISPLAYED` has those on lines of their own, :data:`INLINE` those within a sentence.
"""

import re
from collections.abc import Callable

DISPLAYED = {
    "μ̂_j = τ² Σ_i g_ij": r"\hat\mu_j = \tau^2 \sum_i g_{ij}",
    "μ̂_j = Σ_i E[x_ij | vote_i]/s_ij² / Σ_i 1/s_ij²": (
        r"\hat\mu_j = \frac{\sum_i E[x_{ij} \mid \text{vote}_i] / s_{ij}^2}{\sum_i 1 / s_{ij}^2}"
    ),
    "w_ij = ∂ log P(vote_i)/∂μ_j at equal truths;    for rankings E[x_ij | ballot_i]/s_ij²": (
        r"w_{ij} = \frac{\partial \log P(\text{vote}_i)}{\partial \mu_j} \text{ at equal truths;} \qquad"
        r" \text{for rankings } \frac{E[x_{ij} \mid \text{ballot}_i]}{s_{ij}^2}"
    ),
    "μ̂_j = Σ_i z_rank(i, j)/s_ij / (1/τ² + Σ_i κ_i/s_ij²),    κ_i the mean of z² for the ballot's length": (
        r"\hat\mu_j = \frac{\sum_i z_{\text{rank}(i, j)} / s_{ij}}{1 / \tau^2 + \sum_i \kappa_i / s_{ij}^2}, \qquad"
        r" \kappa_i \text{ the mean of } z^2 \text{ for the ballot's length}"
    ),
    "μ̂ = decode(Σ_i encode(ballot_i));    μ̂ moves by decode'(Σ_i encode'(ballot_i, μ̂))": (
        r"\hat\mu = \text{decode}\Bigl(\sum_i \text{encode}(\text{ballot}_i)\Bigr); \qquad"
        r" \hat\mu \text{ moves by } \text{decode}'\Bigl(\sum_i \text{encode}'(\text{ballot}_i, \hat\mu)\Bigr)"
    ),
    "p_best = softmax(σ(Σ_i h(z_i)))": (r"p_{\text{best}} = \text{softmax}\Bigl(\sigma\Bigl(\sum_i h(z_i)\Bigr)\Bigr)"),
    "score_j = Σ_i c_ij x_ij / Σ_i c_ij": r"\text{score}_j = \frac{\sum_i c_{ij} x_{ij}}{\sum_i c_{ij}}",
    "w_i = c_i1 c_i2 / (σ_2² c_i1 + σ_1² c_i2),    Δ = Σ_i w_i y_i / Σ_i w_i": (
        r"w_i = \frac{c_{i1} c_{i2}}{\sigma_2^2 c_{i1} + \sigma_1^2 c_{i2}}, \qquad"
        r" \Delta = \frac{\sum_i w_i y_i}{\sum_i w_i}"
    ),
    "score_j = Σ_i ±1/s_i, + where voter i puts j first;    Δ the maximum of Σ_i log Φ(±Δ/s_i)": (
        r"\text{score}_j = \sum_i \pm\frac{1}{s_i}, \text{ + where voter } i \text{ puts } j \text{ first;} \qquad"
        r" \Delta \text{ the maximum of } \sum_i \log \Phi(\pm\Delta / s_i)"
    ),
    "w_ij = Σ_k ±1 / √(s_ij² + s_ik²),    s_ij² = σ_j² / c_ij,    + where the voter puts j above k": (
        r"w_{ij} = \sum_k \frac{\pm 1}{\sqrt{s_{ij}^2 + s_{ik}^2}}, \qquad"
        r" s_{ij}^2 = \frac{\sigma_j^2}{c_{ij}}, \qquad \text{+ where the voter puts } j \text{ above } k"
    ),
    "w_ij = Σ_k 1/√(s_ij² + s_ik²) for the favourite j,    w_ik = −1/√(s_ij² + s_ik²) for each other k seen": (
        r"w_{ij} = \sum_k \frac{1}{\sqrt{s_{ij}^2 + s_{ik}^2}} \text{ for the favourite } j, \qquad"
        r" w_{ik} = \frac{-1}{\sqrt{s_{ij}^2 + s_{ik}^2}} \text{ for each other } k \text{ seen}"
    ),
    "w_ij = √c_ij/σ_j for the favourite j, 0 for the others": (
        r"w_{ij} = \frac{\sqrt{c_{ij}}}{\sigma_j} \text{ for the favourite } j, 0 \text{ for the others}"
    ),
    "w_ij = Σ_x (x/s_ij²) s(x) / Σ_x s(x),    w_ik = −Σ_x φ_ik(x) Π_{l≠j,k} Φ_il(x) / Σ_x s(x)": (
        r"w_{ij} = \frac{\sum_x (x / s_{ij}^2) s(x)}{\sum_x s(x)}, \qquad"
        r" w_{ik} = -\frac{\sum_x \varphi_{ik}(x) \prod_{l \neq j, k} \Phi_{il}(x)}{\sum_x s(x)}"
    ),
    "w_ik = −∫ φ_ij(x) φ_ik(x) Π_{l≠j,k} Φ_il(x) dx / P": (
        r"w_{ik} = -\frac{1}{P} \int \varphi_{ij}(x) \varphi_{ik}(x) \prod_{l \neq j, k} \Phi_{il}(x) \thinspace dx"
    ),
    "score_j = Σ_i (n − rank_ij)": r"\text{score}_j = \sum_i (n - \text{rank}_{ij})",
    "w_ij = √c_ij · ((n + 1)/2 − rank_ij)": (r"w_{ij} = \sqrt{c_{ij}} \Bigl(\frac{n + 1}{2} - \text{rank}_{ij}\Bigr)"),
    "score_j = Σ_i 1/(number of favourites of voter i), over the voters with j among them": (
        r"\text{score}_j = \sum_i \frac{1}{\text{number of favourites of voter } i},"
        r" \text{ over the voters with } j \text{ among them}"
    ),
    "score_j = Σ_i points[rank_ij]": r"\text{score}_j = \sum_i \text{points}[\text{rank}_{ij}]",
    "score_j = −Σ_i 1/(number of last ones of voter i), over the voters with j among them": (
        r"\text{score}_j = -\sum_i \frac{1}{\text{number of last ones of voter } i},"
        r" \text{ over the voters with } j \text{ among them}"
    ),
}

INLINE = {
    "Φ_ik": r"\Phi_{ik}",
    "τ² g_ij": r"\tau^2 g_{ij}",
    "g_ij": "g_{ij}",
    "x_ij ~ N(μ_j, σ²/c_ij + ω²)": r"x_{ij} \sim N(\mu_j, \sigma^2 / c_{ij} + \omega^2)",
    "E[x_ij | ballot] = s z_rank": r"E[x_{ij} \mid \text{ballot}] = s z_{\text{rank}}",
    "z_i": "z_i",
    "x_ij": "x_{ij}",
    "c_ij": "c_{ij}",
    "w_ij": "w_{ij}",
    "σ_j²/c_ij": r"\sigma_j^2 / c_{ij}",
    "σ_j/√c_ij": r"\sigma_j / \sqrt{c_{ij}}",
    "μ_j": r"\mu_j",
    "σ_j": r"\sigma_j",
    "Σ_i w_ij": r"\sum_i w_{ij}",
    "Δ = μ_2 − μ_1": r"\Delta = \mu_2 - \mu_1",
    "y_i = x_i2 − x_i1": "y_i = x_{i2} - x_{i1}",
    "x_i2 − x_i1": "x_{i2} - x_{i1}",
    "c_i2 − c_i1": "c_{i2} - c_{i1}",
    "Φ(Δ/s_i)": r"\Phi(\Delta / s_i)",
    "s_i² = σ_1²/c_i1 + σ_2²/c_i2": r"s_i^2 = \sigma_1^2 / c_{i1} + \sigma_2^2 / c_{i2}",
    "√(c_ij c_ik / (σ_k² c_ij + σ_j² c_ik))": r"\sqrt{c_{ij} c_{ik} / (\sigma_k^2 c_{ij} + \sigma_j^2 c_{ik})}",
    "s(x) = Π_k Φ_ik(x)": r"s(x) = \prod_k \Phi_{ik}(x)",
    "P = ∫ φ_ij(x) Π_k Φ_ik(x) dx": r"P = \int \varphi_{ij}(x) \prod_k \Phi_{ik}(x) \thinspace dx",
    "√(2/π)": r"\sqrt{2 / \pi}",
}
# The longest that begins at a place, also across a line break; never within code or on a line of its own.
_FOUND = re.compile(
    r"^    .*$|`[^`]*`|<code>.*?</code>|<[^>]*>|(?<!\w)("
    + "|".join(r"\s+".join(map(re.escape, text.split())) for text in sorted(INLINE, key=len, reverse=True))
    + r")(?!\w)",
    flags=re.MULTILINE,
)


def typeset(text: str) -> str:
    """Typeset the formulas of a docstring, for Markdown."""
    return re.sub(r"^    (.*)$", lambda match: f"$${DISPLAYED[match[1]]}$$", inline(text), flags=re.MULTILINE)


def inline(text: str, mark: Callable[[str], str] = "${}$".format) -> str:
    """Typeset the formulas within sentences."""
    return _FOUND.sub(lambda match: mark(INLINE[" ".join(match[1].split())]) if match[1] else match[0], text)
