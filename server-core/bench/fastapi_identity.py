"""The yardstick of the protocol bench: what one would write by hand with FastAPI instead of a Triton-compatible server.

One route that takes a v2 inference request, as JSON or with the binary tensor extension, copies its FP32 tensor and answers in the same form. Runs
under uvicorn with uvloop and httptools and prints "PORT <n>" once it listens. Exits with 3 where a package is missing.
Debian: apt-get install python3-fastapi python3-uvicorn python3-uvloop python3-httptools python3-numpy
"""
import json
import socket
import sys

try:
    import httptools  # noqa: F401 (uvicorn takes it by name)
    import numpy as np
    import uvicorn
    import uvloop  # noqa: F401
    from fastapi import FastAPI, Request, Response
except ImportError as problem:
    print(f"{problem}", file=sys.stderr)
    sys.exit(3)

app = FastAPI()


@app.post("/v2/models/{model}/infer")
async def infer(model: str, request: Request):
    body = await request.body()
    length = request.headers.get("inference-header-content-length")
    document = json.loads(body if length is None else body[:int(length)])
    tensor = document["inputs"][0]
    if length is None:
        data = np.array(tensor["data"], dtype=np.float32).reshape(tensor["shape"])
    else:
        data = np.frombuffer(body, dtype=np.float32, offset=int(length)).reshape(tensor["shape"])
    output = data.copy()
    described = {"name": "OUTPUT0", "datatype": "FP32", "shape": list(output.shape)}
    answer = {"model_name": model, "model_version": "1", "outputs": [described]}
    if length is None:
        described["data"] = output.ravel().tolist()
        return Response(json.dumps(answer), media_type="application/json")
    described["parameters"] = {"binary_data_size": output.nbytes}
    header = json.dumps(answer).encode()
    return Response(header + output.tobytes(), media_type="application/octet-stream", headers={"Inference-Header-Content-Length": str(len(header))})


def main():
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, loop="uvloop", http="httptools", access_log=False, log_level="warning"))
    print(f"PORT {listener.getsockname()[1]}", flush=True)
    server.run(sockets=[listener])


main()
