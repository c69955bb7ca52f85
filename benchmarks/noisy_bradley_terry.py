"""crowd-kit's NoisyBradleyTerry on tables of comparisons: a JSON list in, a JSON list of scores out.

Runs by itself in an environment that has crowd-kit. Its slope by biases and skills is that of the last comparison of
each worker, one place off; ``mended`` has the slope of the function that it maximises.
"""

import json
import sys

import numpy as np
import pandas as pd
from crowdkit.aggregation import NoisyBradleyTerry
from scipy.special import expit, logit


class Mended(NoisyBradleyTerry):
    """The same model, with the slope of its own function."""

    @staticmethod
    def _compute_gradient(x, np_data, np_workers, labels, workers, regularization_ratio):
        first, second, label = np_data.T
        bias, skill = 1 + labels + np_workers, 1 + labels + workers + np_workers
        y = np.where(first == label, 1, -1)
        by_item, by_bias, able = expit(y * (x[first] - x[second])), expit(y * x[bias]), expit(x[skill])
        chance = able * by_item + (1 - able) * by_bias
        made = np.zeros_like(x)
        step = y * able * by_item * (1 - by_item) / chance
        np.add.at(made, first, step)
        np.add.at(made, second, -step)
        np.add.at(made, bias, y * (1 - able) * by_bias * (1 - by_bias) / chance)
        np.add.at(made, skill, able * (1 - able) * (by_item - by_bias) / chance)
        away = regularization_ratio * np.tanh((x[1 : labels + 1] - x[0]) / 2)
        made[1 : labels + 1] += away
        made[0] -= np.sum(away)
        return -made


def scores(table: dict[str, list], mended: bool) -> dict[str, float]:
    """Return the score of each alternative; ties are left out, since the model knows none."""
    frame = pd.DataFrame(table)
    frame = frame[frame["winner"] != "tie"]
    frame["label"] = np.where(frame["winner"] == "left", frame["left"], frame["right"])
    found = (Mended if mended else NoisyBradleyTerry)().fit_predict(frame)
    return logit(found.clip(1e-12, 1 - 1e-12)).to_dict()


if __name__ == "__main__":
    json.dump([{str(own): scores(table, own) for own in (False, True)} for table in json.load(sys.stdin)], sys.stdout)
