# SPDX-License-Identifier: Apache-2.0
"""Heat in a rod, by ../rod.weft. Usage: python3 rod.py rod.weft CELLS STEPS"""

import array
import sys

import weft


def show(progress):
    if progress.fraction is not None:
        sys.stderr.write(f"\r{progress.activity} {progress.fraction:4.0%}")


def main(path, cells, steps):
    rod = array.array("d", bytes(8 * cells))
    rod[cells // 2] = 1000
    with weft.Context(progress=show) as context:
        program = context.load(path)
        heat = program.diffuse(steps, rod)
        highest, cell = program.warmest(heat)
    print(f"warmest: {highest:.17g} at cell {cell}")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: rod.py rod.weft CELLS STEPS")
    try:
        main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    except weft.Error as error:
        sys.exit(f"{error}")
    except KeyboardInterrupt:
        sys.exit("\nrod.py: stopped")
