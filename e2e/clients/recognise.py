"""An ordinary Triton HTTP client: Python's standard library and numpy, nothing of ours.

Sends one FP32 tensor (raw file) to a recogniser COUNT times from CONCURRENCY threads with the binary tensor extension, decodes the first
answer (CTC greedy: class 0 is blank, then the character list, last class is space), and prints one JSON document:
{"text", "latencies_ms": [...], "finished_at_ms": [...]}.
"""
import argparse
import http.client
import json
import threading
import time

import numpy as np


def infer(connection, model, body, header_length):
    connection.request("POST", f"/v2/models/{model}/infer", body, {
        "Content-Type": "application/octet-stream", "Inference-Header-Content-Length": str(header_length)})
    response = connection.getresponse()
    payload = response.read()
    if response.status != 200:
        raise RuntimeError(f"HTTP {response.status}: {payload[:500]!r}")
    length = int(response.headers["Inference-Header-Content-Length"])
    document = json.loads(payload[:length])
    output = document["outputs"][0]
    return np.frombuffer(payload, dtype=np.float32, offset=length).reshape(output["shape"])


def decode(scores, characters):
    best = scores[0].argmax(axis=-1)
    classes = [""] + characters + [" "]
    return "".join(classes[c] for i, c in enumerate(best) if c != 0 and (i == 0 or c != best[i - 1]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--input-name", required=True)
    parser.add_argument("--tensor", required=True)
    parser.add_argument("--shape", required=True, help="1,3,48,320")
    parser.add_argument("--characters", required=True)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--concurrency", type=int, default=1)
    arguments = parser.parse_args()

    shape = [int(dim) for dim in arguments.shape.split(",")]
    tensor = np.fromfile(arguments.tensor, dtype="<f4").reshape(shape)
    with open(arguments.characters, encoding="utf-8") as file:
        characters = file.read().split("\n")
    if characters and characters[-1] == "":
        characters.pop()
    header = json.dumps({
        "inputs": [{"name": arguments.input_name, "shape": shape, "datatype": "FP32", "parameters": {"binary_data_size": tensor.nbytes}}],
        "parameters": {"binary_data_output": True}}).encode()
    body = header + tensor.tobytes()

    lock = threading.Lock()
    remaining = arguments.count
    latencies, finished, texts, errors = [], [], [], []

    def work():
        nonlocal remaining
        connection = http.client.HTTPConnection("127.0.0.1", arguments.port, timeout=60)
        try:
            while True:
                with lock:
                    if remaining == 0 or errors:
                        return
                    remaining -= 1
                started = time.perf_counter()
                scores = infer(connection, arguments.model, body, len(header))
                elapsed = (time.perf_counter() - started) * 1000
                with lock:
                    latencies.append(elapsed)
                    finished.append(time.time() * 1000)
                    if not texts:
                        texts.append(decode(scores, characters))
        except Exception as error:  # reported to the caller as the client's failure
            with lock:
                errors.append(repr(error))
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(arguments.concurrency)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise SystemExit(errors[0])
    print(json.dumps({"text": texts[0], "latencies_ms": latencies, "finished_at_ms": finished}))


if __name__ == "__main__":
    main()
