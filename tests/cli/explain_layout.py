# SPDX-License-Identifier: Apache-2.0
# What is wrong with how pictures of plans look, for explain.sh: explain_layout.py WIDTH
# FILE.svg... prints a line for each text on another one, or that leaves its box or the
# page; for each edge behind a box, or that does not join two; for what travels without a
# word, and for pictures that are wider than that, or begin with an empty row.
# Characters are as wide as in DejaVu Sans, of which few common fonts are wider.
import re
import sys
import xml.dom.minidom

WIDTHS = {0.28: "ijl", 0.36: " .,:;|'fI-/", 0.41: "rt()[]", 0.98: "mwMW%@", 0.84: "+<=>~#&"}
FONTS = {"title": (19, 1.12), "name": (14, 1.12), "small": (11.5, 1), "bytes": (11, 1)}
TITLE = 76  # above all rows


def width_of(char):
    for width, chars in WIDTHS.items():
        if char in chars:
            return width
    return 1 if char == "…" or ord(char) > 0x2E80 else 0.75 if char.isupper() else 0.63


def text_of(element):
    said = "".join(node.data for node in element.childNodes if node.nodeType == node.TEXT_NODE)
    font, *place = element.getAttribute("class").split()
    size, weight = FONTS[font]
    width = size * weight * sum(map(width_of, said))
    x, y = (float(element.getAttribute(k)) for k in "xy")
    left = x - width / 2 if place == ["mid"] else x
    return (left, y - 0.76 * size, left + width, y + 0.24 * size), said, font


def box_of(element):
    x, y, w, h = (float(element.getAttribute(k)) for k in ("x", "y", "width", "height"))
    return x, y, x + w, y + h


def points_of(path):
    points = []
    for letter, numbers in re.findall(r"([MVC])([-\d. ]+)", path.getAttribute("d")):
        v = [float(number) for number in numbers.split()]
        if letter == "M":
            points.append((v[0], v[1]))
            continue
        x, y = points[-1]
        c = (x, y, x, v[0], x, v[0]) if letter == "V" else v
        for k in range(1, 33):
            t, u = k / 32, 1 - k / 32
            near, far = 3 * u * u * t, 3 * u * t * t
            points.append((u**3 * x + near * c[0] + far * c[2] + t**3 * c[4],
                           u**3 * y + near * c[1] + far * c[3] + t**3 * c[5]))
    return points


def meet(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def holds(box, point, more=0.0):
    return (box[0] - more < point[0] < box[2] + more and
            box[1] - more < point[1] < box[3] + more)


def look(svg, most):
    width, height = (float(svg.getAttribute(k)) for k in ("width", "height"))
    texts = [text_of(t) for t in svg.getElementsByTagName("text")]
    boxes = [box_of(r) for r in svg.getElementsByTagName("rect")
             if r.getAttribute("class") in ("box", "pill")]
    edges = [p for p in svg.getElementsByTagName("path")
             if p.getElementsByTagName("title")]
    if width > most:
        yield f"it is {width} wide"
    if not any(box[1] < TITLE + 20 for box in boxes):
        yield "the first row is empty"
    for text in svg.getElementsByTagName("text"):
        if text_of(text)[1].find("…") >= 0 and not text.getElementsByTagName("title"):
            yield f"`{text_of(text)[1]}` is nowhere in full"
    for i, (place, said, font) in enumerate(texts):
        for other, others, _ in texts[:i]:
            if meet(place, other):
                yield f"`{said}` is on `{others}`"
        if not meet(place, (0, 0, width, height)) or place[0] < 0 or place[2] > width:
            yield f"`{said}` leaves the page"
        for box in boxes:
            is_inside = box[0] <= place[0] and place[2] <= box[2] and font != "bytes"
            if meet(place, box) and not is_inside:
                yield f"`{said}` leaves its box, or is on one"
    for i, box in enumerate(boxes):
        if any(meet(box, other) for other in boxes[:i]):
            yield "a box is on another one"
    travels = 0
    for edge in edges:
        points = points_of(edge)
        said = edge.getElementsByTagName("title")[0].firstChild.data
        inner = [(b[0] + 1, b[1] + 1, b[2] - 1, b[3] - 1) for b in boxes]
        if any(holds(box, point) for box in inner for point in points):
            yield f"`{said}` passes behind a box"
        for end in (points[0], points[-1]):
            if not any(holds(box, end, 1) for box in boxes):
                yield f"`{said}` ends nowhere"
        travels += edge.getAttribute("class") == "edge far" and not said.endswith("?")
    told = sum(font == "bytes" for _, _, font in texts)
    if told != travels:
        yield f"{travels} edges travel, and {told} say so"


is_wrong = False
for file in sys.argv[2:]:
    for complaint in look(xml.dom.minidom.parse(file).documentElement, float(sys.argv[1])):
        print(f"{file}: {complaint}")
        is_wrong = True
sys.exit(is_wrong)
