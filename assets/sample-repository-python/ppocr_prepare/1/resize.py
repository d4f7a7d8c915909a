"""Pictures in another size. The folder of ppocr_read has a copy of this file."""

import numpy as np


def resize(picture, height, width):
    """A picture [height, width, channels] in another size, each pixel from the four around its place. Returns FP32."""

    def places(wanted, there):
        at = np.clip((np.arange(wanted) + 0.5) * there / wanted - 0.5, 0, there - 1)
        low = np.floor(at).astype(int)
        return low, np.minimum(low + 1, there - 1), (at - low).astype(np.float32)

    top, bottom, down = places(height, picture.shape[0])
    left, right, across = places(width, picture.shape[1])
    rows = picture[top].astype(np.float32) * (1 - down[:, None, None]) + picture[bottom] * down[:, None, None]
    return rows[:, left] * (1 - across[None, :, None]) + rows[:, right] * across[None, :, None]
