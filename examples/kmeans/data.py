# SPDX-License-Identifier: Apache-2.0
"""Writes wine.csv: scikit-learn's wine_data.csv with the names of its columns."""
import os
from sklearn import datasets

here = os.path.dirname(os.path.abspath(__file__))
source = os.path.join(datasets.__path__[0], "data", "wine_data.csv")
with open(source) as table, open(os.path.join(here, "wine.csv"), "w") as out:
    names = datasets.load_wine().feature_names + ["cultivator"]
    out.write(",".join(names) + "\n" + "".join(table.readlines()[1:]))
