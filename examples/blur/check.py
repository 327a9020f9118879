# SPDX-License-Identifier: Apache-2.0
"""Where the expected values of blur.weft come from: SciPy's filters."""
import os
import numpy as np
from PIL import Image
from scipy import ndimage

here = os.path.dirname(os.path.abspath(__file__))
photo = np.asarray(Image.open(os.path.join(here, "coffee.png"))).astype(np.int64)


def digest(image):
    flat = image.reshape(-1).astype(np.int64)
    return int(flat.sum()), int((flat * np.arange(flat.size)).sum())


square = np.ones((11, 11), np.int64)
total = [ndimage.convolve(photo[..., c], square, mode="constant") for c in range(3)]
count = ndimage.convolve(np.ones(photo.shape[:2], np.int64), square, mode="constant")
print("blur ", digest(np.stack([(t + count // 2) // count for t in total], axis=-1)))

grey = (photo @ [299, 587, 114] + 500) // 1000
gradient = np.hypot(*(ndimage.sobel(grey, axis, mode="nearest") for axis in (0, 1)))
print("edges", digest(np.minimum(255, np.round(gradient / 2))))
