# SPDX-License-Identifier: Apache-2.0
"""Where the expected values of iris.weft come from."""
import numpy as np

text = open(__file__.replace("centroid.py", "flowers.in")).read()
rows, labels = text.replace("f64", "").replace("i64", "").split("]]")
x, c = np.array(eval(rows + "]]")), np.array(eval(labels))
means = np.array([x[c == k].mean(axis=0) for k in range(3)])
given = ((x[:, None, :] - means) ** 2).sum(axis=2).argmin(axis=1)
print([[int(((c == i) & (given == j)).sum()) for j in range(3)] for i in range(3)])
