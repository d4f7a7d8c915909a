"""A pipeline written in code: what goes before a model, the model, what comes after it. All requests of a batch are asked at once."""

import asyncio
import json

import numpy as np
import triton_python_backend_utils as pb_utils


def before(x):
    """Pre-processing: values from -1 to 1."""
    largest = np.abs(x).max(initial=0)
    return x if largest == 0 else x / largest


def after(y):
    """Post-processing."""
    return y.astype(np.float32, copy=False)


class TritonPythonModel:
    def initialize(self, args):
        parameters = json.loads(args["model_config"])["parameters"]
        self.member = parameters["member"]["string_value"]
        self.member_input = parameters["member_input"]["string_value"]
        self.member_output = parameters["member_output"]["string_value"]

    async def execute(self, requests):
        return list(await asyncio.gather(*(self.answer(request) for request in requests)))

    async def answer(self, request):
        x = pb_utils.get_input_tensor_by_name(request, "INPUT").as_numpy()
        call = pb_utils.InferenceRequest(
            model_name=self.member,
            requested_output_names=[self.member_output],
            inputs=[pb_utils.Tensor(self.member_input, before(x))],
            request_id=request.request_id(),
        )
        answer = await call.async_exec()
        if answer.has_error():
            text = "the model '%s' of this pipeline did not answer: %s. Load it, or name another with the parameter member" % (self.member, answer.error().message())
            return pb_utils.InferenceResponse(error=pb_utils.TritonError(text, answer.error().code()))
        y = pb_utils.get_output_tensor_by_name(answer, self.member_output).as_numpy()
        return pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT", after(y))])
