# SPDX-License-Identifier: Apache-2.0
"""Where the expected values of sunspots.weft come from."""
import numpy as np

text = open(__file__.replace("cycle.py", "years.in")).read()
x = np.array([float(v.replace("f64", "")) for v in text.strip().strip("[]").split(",")])
d, years = x - x.mean(), np.arange(len(x))
power = {
    p / 10: np.abs((d * np.exp(20j * np.pi * years / p)).sum()) ** 2 / (d * d).sum()
    for p in range(50, 201)
}
print(max(power.items(), key=lambda item: item[1]))
