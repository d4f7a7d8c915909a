"""PyTorch on an Ascend NPU: TorchScript from model.pt, or the module below where there is none."""

import os

import torch
import torch_npu  # noqa: F401  makes the device "npu" known to torch
import triton_python_backend_utils as pb_utils


class Example(torch.nn.Module):
    """Stands where your network goes."""

    def forward(self, x):
        return torch.relu(x)


class TritonPythonModel:
    def initialize(self, args):
        self.device = torch.device("npu", int(args["model_instance_device_id"]))
        torch.npu.set_device(self.device)
        path = os.path.join(args["model_repository"], args["model_version"], "model.pt")
        network = torch.jit.load(path, map_location="cpu") if os.path.isfile(path) else Example()
        self.network = network.eval().to(self.device)

    def execute(self, requests):
        responses = []
        for request in requests:
            x = torch.from_numpy(pb_utils.get_input_tensor_by_name(request, "INPUT").as_numpy())
            with torch.no_grad():
                y = self.network(x.to(self.device)).cpu().numpy()
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT", y)]))
        return responses

    def finalize(self):
        self.network = None
        torch.npu.empty_cache()
