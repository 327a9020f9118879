# SPDX-License-Identifier: Apache-2.0
"""Where the answers in README.md come from, beside wc and grep."""
import collections
import os
import re

here = os.path.dirname(os.path.abspath(__file__))
text = open(os.path.join(here, "alice29.txt"), "rb").read()
letters = collections.Counter(chr(c) for c in text.lower() if chr(c).isalpha())
print(text.count(b"\n"), len(re.findall(b"[^\0- \x7f]+", text)), len(text))
print([letters[chr(c)] for c in range(ord("a"), ord("z") + 1)])
print(letters.most_common(1), max(re.findall(b"[A-Za-z]+", text), key=len))
print(len(re.findall(rb"(?<![a-z])alice(?![a-z])", text.lower())))
