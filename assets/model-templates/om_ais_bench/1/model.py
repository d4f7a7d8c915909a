"""An .om file through ais_bench: Huawei's, or the module of the same name that comes with the server."""

import json
import os

import numpy as np
import triton_python_backend_utils as pb_utils
from ais_bench.infer.interface import InferSession


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        self.inputs = [tensor["name"] for tensor in config["input"]]
        self.outputs = [(tensor["name"], pb_utils.triton_string_to_numpy(tensor["data_type"])) for tensor in config["output"]]
        self.mode = config["parameters"]["mode"]["string_value"]
        path = os.path.join(args["model_repository"], args["model_version"], "model.om")
        if not os.path.isfile(path):
            raise pb_utils.TritonModelException(
                "there is no %s: make it (atc --framework=5 --model=model.onnx --output=model --soc_version=<as npu-smi info says>), and put it there" % path)
        self.session = InferSession(int(args["model_instance_device_id"]), path)
        self.check("inputs", len(self.inputs), len(self.session.get_inputs()))
        self.check("outputs", len(self.outputs), len(self.session.get_outputs()))

    def check(self, what, written, found):
        if written != found:
            self.session.free_resource()
            raise pb_utils.TritonModelException("config.pbtxt has %d %s and model.om has %d: describe them all, in the order of the file" % (written, what, found))

    def execute(self, requests):
        responses = []
        for request in requests:
            feeds = [np.ascontiguousarray(pb_utils.get_input_tensor_by_name(request, name).as_numpy()) for name in self.inputs]
            try:
                results = self.session.infer(feeds, mode=self.mode)
            except RuntimeError as error:
                responses.append(pb_utils.InferenceResponse(error=pb_utils.TritonError(str(error))))
                continue
            tensors = [pb_utils.Tensor(name, np.asarray(result).astype(dtype, copy=False)) for (name, dtype), result in zip(self.outputs, results)]
            responses.append(pb_utils.InferenceResponse(tensors))
        return responses

    def finalize(self):
        self.session.free_resource()
