"""The bare loop of the Python bench: the `execute` of a model.py, called again and again in one process with a request that is there already.

python_loop.py <folder of the stub> <model.py> <elements> <seconds>: prints {"p50Milliseconds": ..., "requestsPerSecond": ...}.
"""
import importlib.util
import json
import statistics
import sys
import time

stub, path, elements, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
sys.path.insert(0, stub)

import numpy as np  # noqa: E402 (the folder comes first)
import triton_python_backend_utils as pb_utils  # noqa: E402

spec = importlib.util.spec_from_file_location("model", path)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
model = module.TritonPythonModel()
request = pb_utils.InferenceRequest(model_name="identity", requested_output_names=["OUTPUT0"], inputs=[pb_utils.Tensor("INPUT0", np.sin(np.arange(elements, dtype=np.float32)).reshape(1, elements))])

times = []
until = time.perf_counter() + seconds
while True:
    started = time.perf_counter()
    model.execute([request])
    ended = time.perf_counter()
    times.append(ended - started)
    if ended >= until:
        break
print(json.dumps({"p50Milliseconds": statistics.median(times) * 1e3, "requestsPerSecond": len(times) / sum(times)}))
