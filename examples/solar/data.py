# SPDX-License-Identifier: Apache-2.0
"""Writes planets.csv from the PyPI package de421: python3 data.py FOLDER, where FOLDER
holds the package's constants.npy and jpl-*.npy (Chebyshev polynomials, in km)."""
import os
import sys
import numpy as np
from numpy.polynomial import chebyshev

START, DAYS = 2451545.0, 366  # noon of 1 January 2000, in Julian days; a leap year
BODIES = [  # file, its gravity in the constants, sidereal period in days (NASA)
    ("sun", "GMS", "nan"),
    ("mercury", "GM1", "87.969"),
    ("venus", "GM2", "224.701"),
    ("earthmoon", "GMB", "365.256"),
    ("mars", "GM4", "686.980"),
    ("jupiter", "GM5", "4332.589"),
    ("saturn", "GM6", "10759.22"),
    ("uranus", "GM7", "30685.4"),
    ("neptune", "GM8", "60189"),
]

folder = sys.argv[1]
load = lambda name: np.load(os.path.join(folder, name + ".npy"))
constants = {name.decode(): float(value) for name, value in load("constants")}


def state(body, day):
    """Position and velocity, in astronomical units and days."""
    pieces, start = load("jpl-" + body), constants["jalpha"]
    length = (constants["jomega"] - start) / len(pieces)
    i = int((day - start) // length)
    t = 2 * (day - start - i * length) / length - 1
    place = [chebyshev.chebval(t, c) for c in pieces[i]]
    speed = [chebyshev.chebval(t, chebyshev.chebder(c)) * 2 / length for c in pieces[i]]
    return np.array(place + speed) / constants["AU"]


here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "planets.csv"), "w") as out:
    out.write("gm,x,y,z,vx,vy,vz,end_x,end_y,end_z,period\n")
    for body, gravity, period in BODIES:
        row = [constants[gravity], *state(body, START), *state(body, START + DAYS)[:3]]
        out.write(",".join([repr(float(x)) for x in row] + [period]) + "\n")
