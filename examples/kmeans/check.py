# SPDX-License-Identifier: Apache-2.0
"""Where the expected values of kmeans.weft come from: scikit-learn."""
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.metrics.cluster import contingency_matrix
from sklearn.preprocessing import StandardScaler

wine = load_wine()
rows = StandardScaler().fit_transform(wine.data)
start = rows[[np.flatnonzero(wine.target == c)[0] for c in range(3)]]
model = KMeans(3, init=start, n_init=1, tol=0).fit(rows)
print(model.inertia_, contingency_matrix(wine.target, model.labels_).tolist())
