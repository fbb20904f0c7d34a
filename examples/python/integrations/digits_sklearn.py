"""Searches for the support vector machine that reads handwritten digits best.

Run it as `python3 digits_sklearn.py`.
"""

from pathlib import Path

import numpy
from detcore.integrations.sklearn import DetSearchCV
from scipy.stats import loguniform
from sklearn.svm import SVC

DIGITS = Path(__file__).parents[2] / "data/digits.csv"


def main():
    digits = numpy.loadtxt(DIGITS, delimiter=",")[:400]
    images, labels = digits[:, :64] / 16, digits[:, 64]

    search = DetSearchCV(
        SVC(),
        {
            "C": loguniform(0.1, 100),
            "gamma": loguniform(1e-3, 1),
            "kernel": ["rbf", "poly"],
            "class_weight": [None, "balanced"],
        },
        n_iter=4,
        cv=3,
        random_state=1,
        name="digits with scikit-learn",
    )
    search.fit(images[:300], labels[:300])
    print(f"best of experiment {search.experiment_.id}: {search.best_params_}")
    print(
        f"score {search.best_score_:.3f}, held back {search.score(images[300:], labels[300:]):.3f}"
    )


main()
