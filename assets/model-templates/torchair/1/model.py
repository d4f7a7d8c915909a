"""PyTorch on an Ascend NPU, compiled to one graph by torchair when the model is loaded."""

import json

import torch
import torch_npu  # noqa: F401  makes the device "npu" known to torch
import torchair
import triton_python_backend_utils as pb_utils


class Example(torch.nn.Module):
    """Stands where your network goes."""

    def forward(self, x):
        return torch.relu(x)


class TritonPythonModel:
    def initialize(self, args):
        self.device = torch.device("npu", int(args["model_instance_device_id"]))
        torch.npu.set_device(self.device)
        backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
        self.network = torch.compile(Example().eval().to(self.device), backend=backend, dynamic=False)
        # The first call compiles: at the load, not in the first request.
        shape = [int(size) for size in json.loads(args["model_config"])["input"][0]["dims"]]
        self.run(torch.zeros(shape))

    def run(self, x):
        with torch.no_grad():
            return self.network(x.to(self.device)).cpu().numpy()

    def execute(self, requests):
        responses = []
        for request in requests:
            x = torch.from_numpy(pb_utils.get_input_tensor_by_name(request, "INPUT").as_numpy())
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT", self.run(x))]))
        return responses

    def finalize(self):
        self.network = None
        torch.npu.empty_cache()
