"""Every call of Triton's Python client, against a server that runs: HTTP, gRPC, the asyncio variant of each, and the shared memory utilities.

Needs an importable `tritonclient` (pip install tritonclient[all]); exits with 3 where there is none. Prints one JSON document a line:
{"client", "call", "case", "error"}; error is null for what went as it should. Methods that no case called are reported as failures, too.
"""
import argparse
import asyncio
import inspect
import json
import os
import queue
import sys
import traceback
import uuid

try:
    import numpy as np
    import tritonclient.grpc as grpc_client
    import tritonclient.grpc.aio as grpc_aio_client
    import tritonclient.http as http_client
    import tritonclient.http.aio as http_aio_client
    import tritonclient.utils as utils
    import tritonclient.utils.shared_memory as shm
    from tritonclient.grpc.auth import BasicAuth as grpc_basic_auth
    from tritonclient.http.auth import BasicAuth as http_basic_auth
except ImportError as problem:
    print(f"{problem}", file=sys.stderr)
    sys.exit(3)

TYPES = ["BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP16", "FP32", "FP64", "BYTES", "BF16"]
VALUES = {
    "BOOL": np.array([True, False, True]), "UINT64": np.array([0, 1, 2**64 - 1], dtype=np.uint64), "INT64": np.array([-(2**63), 0, 2**63 - 1], dtype=np.int64),
    "BYTES": np.array(["", "ä\n\"", "x" * 300], dtype=np.object_), "FP32": np.array([0.1, -3.4e38, 1e-45], dtype=np.float32),
    "FP64": np.array([0.1, -1.7e308, 5e-324]), "BF16": np.array([1.0, -2.5, 0.0], dtype=np.float32), "FP16": np.array([1.0, -2.5, 65504.0], dtype=np.float16),
}


def values_of(datatype):
    return VALUES[datatype] if datatype in VALUES else np.array([0, 1, 100], dtype=utils.triton_to_np_dtype(datatype))


def texts_of(array):
    """BYTES come back as bytes, whatever went in."""
    return [v.encode() if isinstance(v, str) else bytes(v) for v in array.reshape(-1)]


def check(condition, what):
    if not condition:
        raise AssertionError(what)


class Flavour:
    """One of the four clients behind one face: calls are awaited where they must be, gRPC answers come as dictionaries."""

    def __init__(self, name, module, address, http_port, model_files):
        self.name, self.module, self.address, self.http_port, self.files = name, module, address, http_port, model_files
        self.is_grpc, self.is_aio = "grpc" in name, "aio" in name
        self.called = set()
        self.client = None

    async def open(self, **options):
        self.client = self.module.InferenceServerClient(self.address, **options)

    async def call(self, method, *args, **kwargs):
        self.called.add(method)
        if self.is_grpc and "as_json" in inspect.signature(getattr(self.client, method)).parameters:
            kwargs.setdefault("as_json", True)
        result = getattr(self.client, method)(*args, **kwargs)
        return await result if inspect.isawaitable(result) else result

    async def fails(self, text, method, *args, **kwargs):
        try:
            result = await self.call(method, *args, **kwargs)
        except utils.InferenceServerException as error:
            check(text in error.message(), f"expected '{text}', got '{error.message()}'")
            return error
        raise AssertionError(f"no error, but {result}")

    def input(self, name, array, datatype=None, **options):
        tensor = self.module.InferInput(name, list(array.shape), datatype or utils.np_to_triton_dtype(array.dtype))
        tensor.set_data_from_numpy(array, **options)
        return tensor

    def output(self, name, **options):
        return self.module.InferRequestedOutput(name, **options)

    def simple_inputs(self, **options):
        a, b = np.arange(16, dtype=np.int32).reshape(1, 16), np.full((1, 16), 2, dtype=np.int32)
        return [self.input("INPUT0", a, **options), self.input("INPUT1", b, **options)], a, b


def check_simple(result, a, b):
    check((result.as_numpy("OUTPUT0") == a + b).all(), "OUTPUT0 is not the sum")
    check((result.as_numpy("OUTPUT1") == a - b).all(), "OUTPUT1 is not the difference")


CASES = []


def case(call, what, only=None):
    def register(function):
        CASES.append((call, what, only, function))
        return function
    return register


# Server and models

@case("is_server_live", "true")
async def _(f):
    check(await f.call("is_server_live") is True, "not live")


@case("is_server_ready", "true")
async def _(f):
    check(await f.call("is_server_ready") is True, "not ready")


async def ready(f, model):
    """Over gRPC a model that is not loaded is an error, not a false."""
    try:
        return await f.call("is_model_ready", model)
    except utils.InferenceServerException as error:
        check(f.is_grpc and f"Request for unknown model: '{model}'" in error.message(), error)
        return False


@case("is_model_ready", "a ready model, its version, and one that is not loaded")
async def _(f):
    check(await f.call("is_model_ready", "simple") is True, "simple is not ready")
    check(await f.call("is_model_ready", "simple", "1") is True, "version 1 of simple is not ready")
    check(not await ready(f, "on_demand"), "on_demand is ready")


@case("get_server_metadata", "name, version and extensions")
async def _(f):
    metadata = await f.call("get_server_metadata")
    check(metadata["name"] == "triton", metadata)
    for extension in ("classification", "sequence", "model_repository", "schedule_policy", "model_configuration", "binary_tensor_data", "parameters", "statistics"):
        check(extension in metadata["extensions"], f"{extension} is not among {metadata['extensions']}")


@case("get_model_metadata", "tensors; unknown model")
async def _(f):
    metadata = await f.call("get_model_metadata", "simple", "1")
    check([t["name"] for t in metadata["inputs"]] == ["INPUT0", "INPUT1"] and metadata["inputs"][0]["datatype"] == "INT32", metadata)
    check([int(d) for d in metadata["inputs"][0]["shape"]] == [-1, 16], metadata)
    await f.fails("Request for unknown model: 'nothing' is not found", "get_model_metadata", "nothing")


@case("get_model_config", "fields; unknown version")
async def _(f):
    config = await f.call("get_model_config", "simple")
    config = config["config"] if f.is_grpc else config
    check(config["name"] == "simple" and int(config["max_batch_size"]) == 8 and config["backend"] == "onnxruntime", config)
    await f.fails("Request for unknown model: 'simple' version 9 is not found", "get_model_config", "simple", "9")


@case("get_model_repository_index", "states")
async def _(f):
    index = await f.call("get_model_repository_index")
    models = {m["name"]: m.get("state", "") for m in (index["models"] if f.is_grpc else index)}
    check(models["simple"] == "READY" and models["on_demand"] != "READY", models)


@case("load_model", "load, config override, files, unknown model")
async def _(f):
    await f.call("load_model", "on_demand")
    check(await f.call("is_model_ready", "on_demand"), "on_demand is not ready")
    await f.call("load_model", "on_demand", config=json.dumps({"backend": "identity", "max_batch_size": 3, "input": [{"name": "INPUT0", "data_type": "TYPE_FP32", "dims": [4]}], "output": [{"name": "OUTPUT0", "data_type": "TYPE_FP32", "dims": [4]}]}))
    config = await f.call("get_model_config", "on_demand")
    check(int((config["config"] if f.is_grpc else config)["max_batch_size"]) == 3, config)
    name = f"sent_{f.name.replace('.', '_')}"
    await f.call("load_model", name, config=json.dumps({"backend": "onnxruntime"}), files={"file:1/model.onnx": f.files})
    x = np.array([1, 2, 3, 4], dtype=np.float32)
    result = await f.call("infer", name, [f.input("INPUT0", x), f.input("INPUT1", x)])
    check((result.as_numpy("OUTPUT") == x + x).all(), "the model that came with the call answers wrongly")
    await f.call("unload_model", name)
    await f.fails("failed to load 'nothing'", "load_model", "nothing")


@case("unload_model", "unload, unload_dependents")
async def _(f):
    await f.call("load_model", "on_demand")
    await f.call("unload_model", "on_demand")
    for _round in range(100):
        if not await ready(f, "on_demand"):
            break
        await asyncio.sleep(0.05)
    check(not await ready(f, "on_demand"), "on_demand is still ready")
    await f.call("load_model", "on_demand")
    await f.call("unload_model", "on_demand", unload_dependents=True)


@case("get_inference_statistics", "one model, all models")
async def _(f):
    def count(answer):
        return int(answer["model_stats"][0].get("inference_count", 0))
    before = count(await f.call("get_inference_statistics", "simple", "1"))
    inputs, _a, _b = f.simple_inputs()
    await f.call("infer", "simple", inputs)
    after = count(await f.call("get_inference_statistics", "simple"))
    check(after == before + 1, f"{before} then {after}")
    everything = await f.call("get_inference_statistics")
    check({"simple", "repeat_int32"} <= {m["name"] for m in everything["model_stats"]}, "not all models")


# Inference

@case("infer", "simple model, id, version, outputs by name")
async def _(f):
    inputs, a, b = f.simple_inputs()
    result = await f.call("infer", "simple", inputs, model_version="1", outputs=[f.output("OUTPUT0"), f.output("OUTPUT1")], request_id="my id")
    check_simple(result, a, b)
    response = result.get_response()
    check((response.id if f.is_grpc else response["id"]) == "my id", response)
    check((response.model_version if f.is_grpc else response["model_version"]) == "1", response)
    check(result.get_output("OUTPUT0") is not None and result.get_output("nothing") is None, "get_output")
    check(result.as_numpy("nothing") is None, "as_numpy of an unknown output")


@case("infer", "all data types as binary data")
async def _(f):
    inputs = [f.input(f"INPUT{i}", values_of(t), t) for i, t in enumerate(TYPES)]
    check_types(await f.call("infer", "every_type", inputs), TYPES)


@case("infer", "all data types as JSON both ways", only="http")
async def _(f):
    types = [t for t in TYPES if t not in ("FP16", "BF16")]
    inputs = [f.input(f"INPUT{i}", values_of(t), t, binary_data=t not in types) for i, t in enumerate(TYPES)]
    outputs = [f.output(f"OUTPUT{i}", binary_data=t not in types) for i, t in enumerate(TYPES)]
    check_types(await f.call("infer", "every_type", inputs, outputs=outputs), TYPES)


def check_types(result, types):
    for i, datatype in enumerate(types):
        given, got = values_of(datatype), result.as_numpy(f"OUTPUT{i}")
        same = texts_of(given) == texts_of(got) if datatype == "BYTES" else got.dtype == given.dtype and (got == given).all()
        check(same, f"{datatype}: {given} became {got}")


@case("infer", "strings that are numbers")
async def _(f):
    a = np.array([[str(i) for i in range(16)]], dtype=np.object_)
    result = await f.call("infer", "simple_string", [f.input("INPUT0", a), f.input("INPUT1", a)])
    check([int(v) for v in texts_of(result.as_numpy("OUTPUT0"))] == [2 * i for i in range(16)], result.as_numpy("OUTPUT0"))


@case("infer", "an empty batch dimension of 0 elements")
async def _(f):
    result = await f.call("infer", "custom_identity_int32", [f.input("INPUT0", np.zeros((1, 0), dtype=np.int32))])
    check(result.as_numpy("OUTPUT0").shape == (1, 0), result.as_numpy("OUTPUT0").shape)


@case("infer", "600 KB")
async def _(f):
    x = np.arange(150_000, dtype=np.int32).reshape(1, -1)
    check((await f.call("infer", "custom_identity_int32", [f.input("INPUT0", x)])).as_numpy("OUTPUT0").tobytes() == x.tobytes(), "other bytes")


@case("infer", "80 MB, more than one socket buffer and window")
async def _(f):
    x = np.arange(20_000_000, dtype=np.int32).reshape(1, -1)
    check((await f.call("infer", "custom_identity_int32", [f.input("INPUT0", x)])).as_numpy("OUTPUT0").tobytes() == x.tobytes(), "other bytes")


@case("infer", "gzip and deflate both ways")
async def _(f):
    inputs, a, b = f.simple_inputs()
    for algorithm in ("gzip", "deflate"):
        if f.is_grpc:
            check_simple(await f.call("infer", "simple", inputs, compression_algorithm=algorithm), a, b)
        else:
            check_simple(await f.call("infer", "simple", inputs, request_compression_algorithm=algorithm, response_compression_algorithm=algorithm), a, b)


@case("infer", "classification")
async def _(f):
    x = np.array([[0.5, 4, -1, 2]], dtype=np.float32)
    result = await f.call("infer", "classes", [f.input("INPUT0", x)], outputs=[f.output("OUTPUT0", class_count=2)])
    check(texts_of(result.as_numpy("OUTPUT0")) == [b"4.000000:1:bee", b"2.000000:3:dog"], texts_of(result.as_numpy("OUTPUT0")))


@case("infer", "priority, timeout, parameters, headers")
async def _(f):
    inputs, a, b = f.simple_inputs()
    check_simple(await f.call("infer", "simple", inputs, priority=2, timeout=5_000_000, parameters={"text": "x", "number": 7, "yes": True}, headers={"x-mine": "1"}), a, b)


@case("infer", "query parameters", only="http")
async def _(f):
    inputs, a, b = f.simple_inputs()
    check_simple(await f.call("infer", "simple", inputs, query_params={"one": 1}), a, b)


@case("infer", "sequences by number and by text")
async def _(f):
    for sequence_id in (4711, str(uuid.uuid4())):
        got = []
        for i, value in enumerate([5, 6, 7]):
            tensor = f.input("INPUT", np.array([[value]], dtype=np.int32))
            result = await f.call("infer", "simple_sequence", [tensor], sequence_id=sequence_id, sequence_start=i == 0, sequence_end=i == 2)
            got.append(int(result.as_numpy("OUTPUT")[0][0]))
        check(got == [6, 6, 7], got)


@case("infer", "errors: unknown model, missing input, wrong shape, unknown output, closed sequence")
async def _(f):
    inputs, _a, _b = f.simple_inputs()
    await f.fails("Request for unknown model: 'nothing' is not found", "infer", "nothing", inputs)
    await f.fails("expected 2 inputs but got 1 inputs for model 'simple'", "infer", "simple", inputs[:1])
    await f.fails("unexpected shape for input 'INPUT0' for model 'simple'", "infer", "simple", [f.input("INPUT0", np.zeros((1, 4), dtype=np.int32)), inputs[1]])
    await f.fails("unexpected inference output 'nothing' for model 'simple'", "infer", "simple", inputs, outputs=[f.output("nothing")])
    await f.fails("must specify the START flag on the first request of the sequence", "infer", "simple_sequence", [f.input("INPUT", np.array([[1]], dtype=np.int32))], sequence_id=99)
    error = await f.fails("doesn't support models with decoupled transaction policy", "infer", "repeat_int32", repeat_inputs(f, 1))
    check(error.status() is not None, "no status")


@case("infer", "client timeout", only="grpc")
async def _(f):
    error = await f.fails("", "infer", "slow", [f.input("INPUT0", np.zeros((1, 4), dtype=np.float32))], client_timeout=0.05)
    check("DEADLINE_EXCEEDED" in error.status(), error.status())


@case("async_infer", "8 requests at once", only="sync")
async def _(f):
    inputs, a, b = f.simple_inputs()
    if not f.is_grpc:
        for handle in [await f.call("async_infer", "simple", inputs) for _round in range(8)]:
            check_simple(handle.get_result(), a, b)
        return
    answers = queue.Queue()
    for _round in range(8):
        await f.call("async_infer", "simple", inputs, lambda result, error: answers.put((result, error)))
    for _round in range(8):
        result, error = answers.get(timeout=30)
        check(error is None, error)
        check_simple(result, a, b)


@case("async_infer", "cancel", only="sync-grpc")
async def _(f):
    answers = queue.Queue()
    call = await f.call("async_infer", "slow", [f.input("INPUT0", np.zeros((1, 4), dtype=np.float32))], lambda result, error: answers.put(error))
    call.cancel()
    error = answers.get(timeout=30)
    check(error is not None and "CANCELLED" in str(error.status()), error)


@case("infer", "16 requests at once", only="aio")
async def _(f):
    inputs, a, b = f.simple_inputs()
    for result in await asyncio.gather(*(f.call("infer", "simple", inputs) for _round in range(16))):
        check_simple(result, a, b)


@case("generate_request_body", "bytes that the server answers and parse_response_body reads", only="http")
async def _(f):
    import http.client
    inputs, a, b = f.simple_inputs()
    f.called.update(("generate_request_body", "parse_response_body"))
    body, header_length = f.client.generate_request_body(inputs)
    connection = http.client.HTTPConnection(f.address)
    connection.request("POST", "/v2/models/simple/infer", body, {} if header_length is None else {"Inference-Header-Content-Length": str(header_length)})
    response = connection.getresponse()
    length = response.getheader("Inference-Header-Content-Length")
    check_simple(f.client.parse_response_body(response.read(), header_length=None if length is None else int(length)), a, b)
    connection.close()


# Streams

def repeat_inputs(f, count, delay=0, wait=0):
    return [f.input("IN", np.arange(count, dtype=np.int32)), f.input("DELAY", np.full(count, delay, dtype=np.uint32)), f.input("WAIT", np.array([wait], dtype=np.uint32))]


async def stream(f, requests, expected, **options):
    """Sends the requests on one stream; (result, error) of each answer, until `expected` of them came."""
    if f.is_aio:
        async def iterate():
            for request in requests:
                yield request
        f.called.add("stream_infer")
        return [answer async for answer in f.client.stream_infer(iterate(), **options)]
    answers = queue.Queue()
    await f.call("start_stream", lambda result, error: answers.put((result, error)), **options)
    for request in requests:
        await f.call("async_stream_infer", **request)
    got = [answers.get(timeout=30) for _round in range(expected)]
    await f.call("stop_stream")
    check(answers.empty(), "more answers than expected")
    return got


STREAM = "stream"


@case(STREAM, "ordinary model, answers in order", only="grpc")
async def _(f):
    inputs, a, b = f.simple_inputs()
    answers = await stream(f, [{"model_name": "simple", "inputs": inputs, "request_id": str(i)} for i in range(5)], 5)
    check(len(answers) == 5, len(answers))
    for result, error in answers:
        check(error is None, error)
        check_simple(result, a, b)
    check(sorted(result.get_response().id for result, _error in answers) == [str(i) for i in range(5)], "ids")


@case(STREAM, "decoupled model, many answers to one request", only="grpc")
async def _(f):
    answers = await stream(f, [{"model_name": "repeat_int32", "inputs": repeat_inputs(f, 6)}], 6)
    check([int(result.as_numpy("OUT")[0]) for result, _error in answers] == list(range(6)), answers)


@case(STREAM, "empty final response", only="sync-grpc")
async def _(f):
    answers = await stream(f, [{"model_name": "repeat_int32", "inputs": repeat_inputs(f, 3), "enable_empty_final_response": True}], 4)
    check(len(answers) == 4, len(answers))
    flags = [result.get_response().parameters["triton_final_response"].bool_param for result, _error in answers]
    check(flags == [False, False, False, True], flags)


@case(STREAM, "an error of one request leaves the stream open", only="grpc")
async def _(f):
    inputs, a, b = f.simple_inputs()
    answers = await stream(f, [{"model_name": "nothing", "inputs": inputs, "request_id": "bad"}, {"model_name": "simple", "inputs": inputs, "request_id": "good"}], 2)
    errors = [str(error) for _result, error in answers if error is not None]
    check(len(errors) == 1 and "Request for unknown model: 'nothing' is not found" in errors[0], errors)
    check_simple(next(result for result, error in answers if error is None), a, b)


@case(STREAM, "sequences", only="grpc")
async def _(f):
    requests = [{"model_name": "simple_sequence", "inputs": [f.input("INPUT", np.array([[v]], dtype=np.int32))], "sequence_id": 31, "sequence_start": v == 1, "sequence_end": v == 3} for v in (1, 2, 3)]
    answers = await stream(f, requests, 3)
    check([error for _result, error in answers if error is not None] == [], answers)
    check(sorted(int(result.as_numpy("OUTPUT")[0][0]) for result, _error in answers) == [2, 2, 3], "values")


@case(STREAM, "compression", only="grpc")
async def _(f):
    inputs, a, b = f.simple_inputs()
    answers = await stream(f, [{"model_name": "simple", "inputs": inputs}], 1, compression_algorithm="gzip")
    check_simple(answers[0][0], a, b)


@case("stop_stream", "cancel_requests", only="sync-grpc")
async def _(f):
    answers = queue.Queue()
    await f.call("start_stream", lambda result, error: answers.put((result, error)))
    await f.call("async_stream_infer", "repeat_int32", repeat_inputs(f, 100, delay=100))
    check(answers.get(timeout=30)[1] is None, "no first answer")
    await f.call("stop_stream", cancel_requests=True)
    last = None
    while not answers.empty():
        last = answers.get()
    check(last is not None and last[1] is not None and "CANCELLED" in str(last[1].status()), last)


# Shared memory

@case("register_system_shared_memory", "register, status, use both ways, unregister")
async def _(f):
    # Of a case that failed.
    await f.call("unregister_system_shared_memory")
    suffix = f"{os.getpid()}_{f.name.replace('.', '_')}"
    inputs_region = shm.create_shared_memory_region("inputs", f"/tc_in_{suffix}", 256)
    outputs_region = shm.create_shared_memory_region("outputs", f"/tc_out_{suffix}", 128)
    try:
        a, b = np.arange(16, dtype=np.int32), np.full(16, 3, dtype=np.int32)
        shm.set_shared_memory_region(inputs_region, [a])
        shm.set_shared_memory_region(inputs_region, [b], offset=128)
        await f.call("register_system_shared_memory", "inputs", f"/tc_in_{suffix}", 256)
        await f.call("register_system_shared_memory", "outputs", f"/tc_out_{suffix}", 128)
        status = await f.call("get_system_shared_memory_status")
        regions = status["regions"] if f.is_grpc else {r["name"]: r for r in status}
        check(set(regions) == {"inputs", "outputs"} and regions["inputs"]["key"] == f"/tc_in_{suffix}" and int(regions["inputs"]["byte_size"]) == 256, status)
        one = await f.call("get_system_shared_memory_status", "outputs")
        check(len(one["regions"] if f.is_grpc else one) == 1, one)
        inputs = []
        for name, offset in (("INPUT0", 0), ("INPUT1", 128)):
            tensor = f.module.InferInput(name, [1, 16], "INT32")
            tensor.set_shared_memory("inputs", 64, offset)
            inputs.append(tensor)
        outputs = [f.output("OUTPUT0"), f.output("OUTPUT1")]
        outputs[0].set_shared_memory("outputs", 64)
        outputs[1].set_shared_memory("outputs", 64, 64)
        result = await f.call("infer", "simple", inputs, outputs=outputs)
        check((shm.get_contents_as_numpy(outputs_region, np.int32, [16]) == a + b).all(), "OUTPUT0 in the region is not the sum")
        check((shm.get_contents_as_numpy(outputs_region, np.int32, [16], offset=64) == a - b).all(), "OUTPUT1 in the region is not the difference")
        check(result.get_output("OUTPUT0") is not None, "no description of OUTPUT0")
        outputs[1].unset_shared_memory()
        check(((await f.call("infer", "simple", inputs, outputs=outputs)).as_numpy("OUTPUT1") == a - b).all(), "OUTPUT1 in the answer")
        await f.call("unregister_system_shared_memory", "inputs")
        await f.fails("Unable to find shared memory region: 'inputs'", "infer", "simple", inputs, outputs=outputs)
        await f.call("unregister_system_shared_memory")
        status = await f.call("get_system_shared_memory_status")
        check(not (status.get("regions") if f.is_grpc else status), status)
    finally:
        shm.destroy_shared_memory_region(inputs_region)
        shm.destroy_shared_memory_region(outputs_region)


@case("register_system_shared_memory", "strings in a region")
async def _(f):
    key = f"/tc_text_{os.getpid()}_{f.name.replace('.', '_')}"
    array = np.array([["one", "", "three"]], dtype=np.object_)
    packed = utils.serialize_byte_tensor(array)
    size = utils.serialized_byte_size(packed)
    region = shm.create_shared_memory_region("texts", key, size)
    try:
        shm.set_shared_memory_region(region, [packed])
        await f.call("register_system_shared_memory", "texts", key, size)
        tensor = f.module.InferInput("INPUT0", [1, 3], "BYTES")
        tensor.set_shared_memory("texts", size)
        result = await f.call("infer", "simple_identity", [tensor])
        check(texts_of(result.as_numpy("OUTPUT0")) == texts_of(array), result.as_numpy("OUTPUT0"))
        await f.call("unregister_system_shared_memory", "texts")
    finally:
        shm.destroy_shared_memory_region(region)


@case("register_system_shared_memory", "errors: no such region, too large")
async def _(f):
    await f.fails("Unable to open shared memory region: '/tc_not_there'", "register_system_shared_memory", "lost", "/tc_not_there", 16)
    key = f"/tc_small_{os.getpid()}_{f.name.replace('.', '_')}"
    region = shm.create_shared_memory_region("small", key, 16)
    try:
        await f.fails("", "register_system_shared_memory", "small", key, 1 << 30)
    finally:
        shm.destroy_shared_memory_region(region)


@case("get_cuda_shared_memory_status", "no region on a server without GPU")
async def _(f):
    status = await f.call("get_cuda_shared_memory_status")
    check(not (status.get("regions") if f.is_grpc else status), status)


@case("register_cuda_shared_memory", "refused as by a server without GPU")
async def _(f):
    await f.fails("failed to register CUDA shared memory region: 'gpu', GPUs not supported", "register_cuda_shared_memory", "gpu", b"AAAA", 0, 64)


@case("unregister_cuda_shared_memory", "all")
async def _(f):
    await f.call("unregister_cuda_shared_memory")


# Settings

def setting(f, answer, name):
    value = answer["settings"][name] if f.is_grpc else answer[name]
    return value.get("value", []) if f.is_grpc else value


@case("get_trace_settings", "global, of a model, of an unknown one")
async def _(f):
    check(setting(f, await f.call("get_trace_settings"), "trace_level") in (["OFF"],), "trace_level")
    check(setting(f, await f.call("get_trace_settings", "simple"), "trace_rate") in ("1000", ["1000"]), "trace_rate")
    await f.fails("nothing", "get_trace_settings", "nothing")


@case("update_trace_settings", "of a model, cleared again; a file is refused")
async def _(f):
    answer = await f.call("update_trace_settings", "simple", {"trace_rate": "5", "trace_level": ["TIMESTAMPS"]})
    check(setting(f, answer, "trace_rate") in ("5", ["5"]) and setting(f, answer, "trace_level") == ["TIMESTAMPS"], answer)
    answer = await f.call("update_trace_settings", "simple", {"trace_rate": None, "trace_level": None})
    check(setting(f, answer, "trace_rate") in ("1000", ["1000"]) and setting(f, answer, "trace_level") == ["OFF"], answer)
    await f.fails("trace file location can not be updated through network protocol", "update_trace_settings", None, {"trace_file": "x"})


@case("get_log_settings", "all of them")
async def _(f):
    answer = await f.call("get_log_settings")
    settings = answer["settings"] if f.is_grpc else answer
    check(set(settings) == {"log_file", "log_info", "log_warning", "log_error", "log_verbose_level", "log_format"}, answer)


@case("update_log_settings", "level and format, and back")
async def _(f):
    def value(answer, name, kind):
        return answer["settings"][name].get(kind) if f.is_grpc else answer[name]
    answer = await f.call("update_log_settings", {"log_verbose_level": 1, "log_format": "ISO8601"})
    check(value(answer, "log_verbose_level", "uint32_param") == 1 and value(answer, "log_format", "string_param") == "ISO8601", answer)
    await f.call("update_log_settings", {"log_verbose_level": 0, "log_format": "default"})
    await f.fails("log file location can not be updated through network protocol", "update_log_settings", {"log_file": "x"})


@case("register_plugin", "basic authentication in each request")
async def _(f):
    plugin = (grpc_basic_auth if f.is_grpc else http_basic_auth)("user", "secret")
    await f.call("register_plugin", plugin)
    check(await f.call("plugin") is plugin, "plugin")
    check(await f.call("is_server_live"), "not live with a plugin")
    await f.call("unregister_plugin")


@case("close", "ends the client")
async def _(f):
    await f.call("close")


def wanted(f, only):
    if only is None:
        return True
    return {"http": not f.is_grpc, "grpc": f.is_grpc, "sync": not f.is_aio, "aio": f.is_aio, "sync-grpc": f.is_grpc and not f.is_aio}[only]


async def drive(f, report):
    await f.open(**({} if f.is_grpc or f.is_aio else {"concurrency": 4}))
    for call, what, only, function in CASES:
        if not wanted(f, only):
            continue
        shown = call if call != STREAM else ("stream_infer" if f.is_aio else "async_stream_infer")
        try:
            await asyncio.wait_for(function(f), 60)
            report(f.name, shown, what, None)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1].lineno
            report(f.name, shown, what, f"{type(error).__name__}: {str(error) or repr(error)} (line {where})"[:600])
            # A stream that a failed case left open would fail the cases after it.
            if f.is_grpc and not f.is_aio:
                f.client.stop_stream(cancel_requests=True)
    public = {n for n, m in inspect.getmembers(f.module.InferenceServerClient) if callable(m) and not n.startswith("_")}
    for name in sorted(public - f.called):
        report(f.name, name, "is called by a case", "no case calls it")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--http", required=True)
    parser.add_argument("--grpc", required=True)
    parser.add_argument("--model-file", required=True, help="an ONNX file that load_model sends along")
    parser.add_argument("--client", action="append", help="http, grpc, http.aio, grpc.aio; default: all")
    options = parser.parse_args()
    with open(options.model_file, "rb") as file:
        model = file.read()
    modules = {"http": http_client, "grpc": grpc_client, "http.aio": http_aio_client, "grpc.aio": grpc_aio_client}

    def report(client, call, what, error):
        print(json.dumps({"client": client, "call": call, "case": what, "error": error}), flush=True)

    for name, module in modules.items():
        if options.client and name not in options.client:
            continue
        flavour = Flavour(name, module, options.grpc if "grpc" in name else options.http, options.http, model)
        asyncio.run(drive(flavour, report))


if __name__ == "__main__":
    main()
