"""Pre- or post-processing with numpy alone; the parameter `stage` of config.pbtxt chooses which."""

import json

import numpy as np
import triton_python_backend_utils as pb_utils

MEAN = np.array([0.485, 0.456, 0.406], np.float32)
DEVIATION = np.array([0.229, 0.224, 0.225], np.float32)


def preprocess(image, height, width):
    """Nearest pixels, RGB from 0 to 1, normalised, channels first, with a batch dimension."""
    if image.shape[0] == 0 or image.shape[1] == 0:
        raise ValueError("the image is empty")
    rows = np.arange(height) * image.shape[0] // height
    columns = np.arange(width) * image.shape[1] // width
    pixels = image[rows][:, columns].astype(np.float32) / 255.0
    return np.ascontiguousarray(((pixels - MEAN) / DEVIATION).transpose(2, 0, 1)[None])


def postprocess(scores, top):
    """The classes with the highest scores, best first, and their probabilities (softmax)."""
    scores = scores.reshape(-1).astype(np.float32)
    exponentials = np.exp(scores - scores.max())
    probabilities = exponentials / exponentials.sum()
    best = np.argsort(-probabilities, kind="stable")[:top]
    return best.astype(np.int32), probabilities[best]


class TritonPythonModel:
    def initialize(self, args):
        parameters = json.loads(args["model_config"])["parameters"]
        self.stage = parameters["stage"]["string_value"]
        self.height = int(parameters["height"]["string_value"])
        self.width = int(parameters["width"]["string_value"])
        self.top = int(parameters["top"]["string_value"])
        if self.stage not in ("preprocess", "postprocess"):
            raise pb_utils.TritonModelException("the parameter stage is '%s': set it to preprocess or postprocess" % self.stage)

    def execute(self, requests):
        responses = []
        for request in requests:
            try:
                responses.append(pb_utils.InferenceResponse(self.run(request)))
            except ValueError as error:
                # What is wrong with one request does not fail the others.
                responses.append(pb_utils.InferenceResponse(error=pb_utils.TritonError(str(error), pb_utils.TritonError.INVALID_ARG)))
        return responses

    def run(self, request):
        if self.stage == "preprocess":
            image = pb_utils.get_input_tensor_by_name(request, "IMAGE").as_numpy()
            return [pb_utils.Tensor("PIXELS", preprocess(image, self.height, self.width))]
        scores = pb_utils.get_input_tensor_by_name(request, "SCORES").as_numpy()
        classes, probabilities = postprocess(scores, self.top)
        return [pb_utils.Tensor("CLASS", classes), pb_utils.Tensor("PROBABILITY", probabilities)]
