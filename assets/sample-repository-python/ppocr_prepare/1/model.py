"""Makes a picture ready for the text detector, with numpy alone."""

import json

import numpy as np
import triton_python_backend_utils as pb_utils
from resize import resize

# Channels red, green, blue.
MEAN = np.array([0.485, 0.456, 0.406], np.float32)
DEVIATION = np.array([0.229, 0.224, 0.225], np.float32)
# The detector halves its picture five times.
STEP = 32


class TritonPythonModel:
    def initialize(self, args):
        parameters = json.loads(args["model_config"]).get("parameters", {})
        self.longest_side = int(parameters.get("LONGEST_SIDE", {}).get("string_value", "960"))

    def execute(self, requests):
        return [self.answer(pb_utils.get_input_tensor_by_name(request, "image").as_numpy()[0]) for request in requests]

    def answer(self, picture):
        height, width = picture.shape[:2]
        if height == 0 or width == 0:
            return pb_utils.InferenceResponse(error=pb_utils.TritonError("the image has no pixels: its shape is %s" % (picture.shape,), pb_utils.TritonError.INVALID_ARG))
        scale = min(1.0, self.longest_side / max(height, width))
        sides = [max(STEP, int(round(side * scale / STEP)) * STEP) for side in (height, width)]
        normal = (resize(picture, *sides) / 255 - MEAN) / DEVIATION
        # Channels first, blue first.
        return pb_utils.InferenceResponse([pb_utils.Tensor("x", normal[:, :, ::-1].transpose(2, 0, 1)[None])])
