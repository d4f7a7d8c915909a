"""triton_python_backend_utils without a server: tensors, values, configs. Run by stub.test.ts, with this folder's sibling `stub` in the path."""

import gc
import inspect
import json
import sys
import unittest

import numpy as np
import triton_python_backend_utils as pb_utils
from pb_stub import dlpack
from pb_stub.region import OwnRegion


class TensorTest(unittest.TestCase):
    def test_keeps_name_shape_type_and_array(self):
        for dtype, number in ((np.bool_, 1), (np.uint8, 2), (np.uint16, 3), (np.uint32, 4), (np.uint64, 5), (np.int8, 6), (np.int16, 7), (np.int32, 8),
                              (np.int64, 9), (np.float16, 10), (np.float32, 11), (np.float64, 12)):
            array = np.array([[0, 1, 1]], dtype=dtype)
            tensor = pb_utils.Tensor("t", array)
            self.assertEqual((tensor.name(), tensor.shape(), tensor.triton_dtype(), tensor.is_cpu()), ("t", [1, 3], number, True))
            self.assertIs(tensor.as_numpy(), array)
            self.assertEqual(bytes(tensor._memory()), array.tobytes())
            self.assertEqual(pb_utils.numpy_to_triton_type(dtype), number)
            self.assertEqual(pb_utils.numpy_to_triton_type(array.dtype), number)
            self.assertIs(pb_utils.triton_to_numpy_type(number), dtype)

    def test_makes_memory_contiguous_and_native(self):
        tensor = pb_utils.Tensor("t", np.arange(6, dtype=np.int32).reshape(2, 3).T)
        self.assertEqual(bytes(tensor._memory()), np.array([0, 3, 1, 4, 2, 5], np.int32).tobytes())
        swapped = pb_utils.Tensor("t", np.array([1], dtype=">i4"))
        self.assertEqual(bytes(swapped._memory()), b"\x01\x00\x00\x00")

    def test_takes_scalars_and_empty_arrays(self):
        self.assertEqual(pb_utils.Tensor("t", np.float32(3)).shape(), [])
        self.assertEqual(pb_utils.Tensor("t", np.zeros((0, 4), np.float32))._memory().size, 0)
        self.assertEqual(pb_utils.Tensor("t", np.array([], dtype=object))._memory().size, 0)

    def test_refuses(self):
        with self.assertRaisesRegex(pb_utils.TritonModelException, "^Tensor name cannot be an empty string.$"):
            pb_utils.Tensor("", np.zeros(1))
        for array in (np.array(["a"]), np.zeros(1, np.complex64), np.array(["2020-01-01"], "datetime64[D]")):
            with self.assertRaisesRegex(pb_utils.TritonModelException, "^NumPy dtype is not supported.$"):
                pb_utils.Tensor("t", array)
        for name in ("t", ""):
            with self.assertRaises(TypeError):
                pb_utils.Tensor(name, [1, 2])

    def test_strings_are_bytes_with_lengths(self):
        array = np.array([["é", b"a\x00"], [5, None]], dtype=object)
        tensor = pb_utils.Tensor("t", array)
        self.assertEqual(bytes(tensor._memory()), b"\x02\x00\x00\x00\xc3\xa9\x02\x00\x00\x00a\x00\x01\x00\x00\x005\x04\x00\x00\x00None")
        self.assertEqual((tensor.triton_dtype(), tensor.shape()), (13, [2, 2]))
        received = pb_utils.Tensor._of_memory("t", "BYTES", [2, 2], tensor._memory()).as_numpy()
        self.assertEqual(received.dtype, np.object_)
        self.assertEqual(received.tolist(), [["é".encode(), b"a\x00"], [b"5", b"None"]])
        self.assertEqual(pb_utils.Tensor("t", np.array([b"ab\x00"]))._memory().tobytes(), b"\x02\x00\x00\x00ab")

    def test_serializes_and_reads_strings(self):
        self.assertEqual(pb_utils.deserialize_bytes_tensor(pb_utils.serialize_byte_tensor(np.array([b"", b"xyz"], dtype=object))).tolist(), [b"", b"xyz"])
        self.assertIsNone(pb_utils.serialize_byte_tensor(np.zeros(1)))
        with self.assertRaisesRegex(ValueError, "5 bytes does not fit into the 1 bytes"):
            pb_utils.deserialize_bytes_tensor(b"\x05\x00\x00\x00a")

    def test_finds_tensors_by_name(self):
        tensor = pb_utils.Tensor("a", np.zeros(1))
        response = pb_utils.InferenceResponse([tensor])
        self.assertIs(pb_utils.get_output_tensor_by_name(response, "a"), tensor)
        self.assertIsNone(pb_utils.get_output_tensor_by_name(response, "b"))
        request = pb_utils.InferenceRequest(inputs=[tensor], model_name="m", requested_output_names=["x"])
        self.assertIs(pb_utils.get_input_tensor_by_name(request, "a"), tensor)
        self.assertIsNone(pb_utils.get_input_tensor_by_name(request, "b"))


class DlpackTest(unittest.TestCase):
    def test_goes_through_capsules_without_a_copy(self):
        for dtype in (np.bool_, np.uint8, np.int16, np.int64, np.float16, np.float32, np.float64):
            array = np.array([[1, 0], [1, 1]], dtype=dtype)
            received = pb_utils.Tensor.from_dlpack("b", pb_utils.Tensor("a", array).to_dlpack())
            self.assertEqual(received.name(), "b")
            np.testing.assert_array_equal(received.as_numpy(), array)
            self.assertEqual(received.as_numpy().dtype, array.dtype)
            self.assertTrue(np.shares_memory(received.as_numpy(), array))
        del received
        gc.collect()
        self.assertEqual(dlpack._alive, {})

    def test_keeps_its_tensor(self):
        tensor = pb_utils.Tensor("a", np.zeros(3))
        before = sys.getrefcount(tensor)
        capsule = tensor.to_dlpack()
        self.assertEqual(sys.getrefcount(tensor), before + 1)
        del capsule
        self.assertEqual(sys.getrefcount(tensor), before)

    def test_frees_what_nobody_consumed(self):
        capsule = pb_utils.Tensor("a", np.zeros(3)).to_dlpack()
        self.assertEqual(len(dlpack._alive), 1)
        del capsule
        gc.collect()
        self.assertEqual(dlpack._alive, {})

    def test_takes_objects_with_the_protocol(self):
        tensor = pb_utils.Tensor("a", np.arange(3))
        self.assertEqual(tensor.__dlpack_device__(), (1, 0))
        np.testing.assert_array_equal(pb_utils.Tensor.from_dlpack("b", tensor).as_numpy(), np.arange(3))
        np.testing.assert_array_equal(pb_utils.Tensor.from_dlpack("b", np.arange(4.0)).as_numpy(), np.arange(4.0))
        np.testing.assert_array_equal(np.from_dlpack(tensor), np.arange(3))

    def test_takes_tensors_of_frameworks(self):
        # Frameworks (torch, jax) cannot be installed where these tests run: a stand-in gives and takes capsules as theirs do.
        class StandInTensor:
            def __init__(self, array, device=(1, 0)):
                self.array, self.device, self.streams = array, device, []

            def __dlpack_device__(self):
                return self.device

            def __dlpack__(self, stream=None):
                self.streams.append(stream)
                return self.array.__dlpack__()

        theirs = StandInTensor(np.arange(6, dtype=np.float32).reshape(2, 3))
        tensor = pb_utils.Tensor.from_dlpack("t", theirs)
        self.assertEqual((tensor.shape(), tensor.triton_dtype(), theirs.streams), ([2, 3], 11, [None]))
        theirs.array[0, 0] = 9
        self.assertEqual(tensor.as_numpy()[0, 0], 9)
        back = np.from_dlpack(tensor)
        self.assertTrue(np.shares_memory(back, theirs.array))
        del theirs
        gc.collect()
        self.assertEqual(tensor.as_numpy().tolist(), [[9, 1, 2], [3, 4, 5]])
        for device, text in (((2, 0), "memory of a GPU"), ((12, 0), "^DLDevice type 12 is not support by Python backend.$")):
            refused = StandInTensor(np.zeros(1), device)
            with self.assertRaisesRegex(pb_utils.TritonModelException, text):
                pb_utils.Tensor.from_dlpack("t", refused)
            self.assertEqual(refused.streams, [])
        with self.assertRaisesRegex(pb_utils.TritonModelException, "stream must be None"):
            tensor.__dlpack__(stream=1)

    def test_carries_bf16(self):
        values = np.array([0x3F80, 0x4000], dtype=np.uint16)
        tensor = pb_utils.Tensor._of_memory("a", "BF16", [2], values.view(np.uint8))
        with self.assertRaisesRegex(pb_utils.TritonModelException, r"^Tensor dtype is BF16 and cannot be converted to NumPy. Use to_dlpack\(\) and from_dlpack\(\) instead.$"):
            tensor.as_numpy()
        received = pb_utils.Tensor.from_dlpack("b", tensor.to_dlpack())
        self.assertEqual((received.triton_dtype(), received.shape(), bytes(received._memory())), (14, [2], values.tobytes()))

    def test_refuses(self):
        text = "^DLPack does not have support for string tensors.$"
        with self.assertRaisesRegex(pb_utils.TritonModelException, text):
            pb_utils.Tensor("a", np.array([b"x"], dtype=object)).to_dlpack()
        capsule = pb_utils.Tensor("a", np.arange(3)).to_dlpack()
        kept = pb_utils.Tensor.from_dlpack("b", capsule)
        with self.assertRaisesRegex(pb_utils.TritonModelException, "can be used once only"):
            pb_utils.Tensor.from_dlpack("c", capsule)
        np.testing.assert_array_equal(kept.as_numpy(), np.arange(3))
        for obj in (object(), [1], None):
            with self.assertRaisesRegex(pb_utils.TritonModelException, "^Provided tensor is not supported. Tensor must be a DLPack capsule or have `__dlpack__` and `__dlpack_device__` attributes$"):
                pb_utils.Tensor.from_dlpack("c", obj)
        with self.assertRaisesRegex(pb_utils.TritonModelException, "^DLPack tensor is not contiguous. Only contiguous DLPack tensors that are stored in C-Order are supported.$"):
            pb_utils.Tensor.from_dlpack("c", np.arange(6).reshape(2, 3).T)
        with self.assertRaisesRegex(pb_utils.TritonModelException, "^Tensor name cannot be an empty string.$"):
            pb_utils.Tensor.from_dlpack("", np.arange(3))

    def test_refuses_memory_of_devices(self):
        for device, text in ((12, "^DLDevice type 12 is not support by Python backend.$"), (2, "^DLDevice type 2 is the memory of a GPU")):
            capsule = pb_utils.Tensor("a", np.arange(3)).to_dlpack()
            address = dlpack._python.PyCapsule_GetPointer(id(capsule), b"dltensor")
            dlpack._ManagedTensor.from_address(address).tensor.device_type = device
            with self.assertRaisesRegex(pb_utils.TritonModelException, text):
                pb_utils.Tensor.from_dlpack("b", capsule)


class ValuesTest(unittest.TestCase):
    def test_types_by_name(self):
        self.assertIs(pb_utils.triton_string_to_numpy("TYPE_FP16"), np.float16)
        self.assertIs(pb_utils.triton_string_to_numpy("TYPE_STRING"), np.object_)
        self.assertIs(pb_utils.triton_string_to_numpy("TYPE_BOOL"), bool)
        self.assertIs(pb_utils.TRITON_STRING_TO_NUMPY["TYPE_INT8"], np.int8)
        for name in ("TYPE_BF16", "TYPE_NONE", "FP32"):
            with self.assertRaises(KeyError):
                pb_utils.triton_string_to_numpy(name)
        self.assertEqual([pb_utils.triton_to_numpy_type(number) for number in (0, 13, 14, 15)], [None, np.object_, None, None])
        self.assertEqual([pb_utils.numpy_to_triton_type(dtype) for dtype in (np.complex64, np.dtype("datetime64[s]"), np.str_)], [None] * 3)
        self.assertEqual(pb_utils.numpy_to_triton_type(np.bytes_), 13)

    def test_error(self):
        self.assertEqual((pb_utils.TritonError("m").message(), pb_utils.TritonError("m").code()), ("m", pb_utils.TritonError.INTERNAL))
        names = ("UNKNOWN", "INTERNAL", "NOT_FOUND", "INVALID_ARG", "UNAVAILABLE", "UNSUPPORTED", "ALREADY_EXISTS", "CANCELLED")
        self.assertEqual([pb_utils.TritonError("m", getattr(pb_utils.TritonError, name)).code() for name in names], list(range(8)))

    def test_response(self):
        response = pb_utils.InferenceResponse([pb_utils.Tensor("a", np.zeros(1))], parameters={"a": 1, "b": True, "c": "x"})
        self.assertEqual((response.has_error(), response.error(), len(response.output_tensors())), (False, None, 1))
        self.assertEqual(json.loads(response.parameters()), {"a": 1, "b": True, "c": "x"})
        failed = pb_utils.InferenceResponse(error=pb_utils.TritonError("no"))
        self.assertEqual((failed.has_error(), failed.error().message(), failed.output_tensors()), (True, "no", []))
        with self.assertRaisesRegex(pb_utils.TritonModelException, "^Output tensor for inference response should not be empty.$"):
            pb_utils.InferenceResponse([None])
        with self.assertRaisesRegex(pb_utils.TritonModelException, "^Expect dict, got <class 'list'>$"):
            pb_utils.InferenceResponse(parameters=[1])
        with self.assertRaisesRegex(pb_utils.TritonModelException, "^Expect parameters values to have type bool/int/str, found type <class 'float'>$"):
            pb_utils.InferenceResponse(parameters={"a": 1.5})
        with self.assertRaisesRegex(pb_utils.TritonModelException, "^Expect parameters keys to have type str, found type <class 'int'>$"):
            pb_utils.InferenceResponse(parameters={1: 1})

    def test_request(self):
        request = pb_utils.InferenceRequest(
            request_id="r", correlation_id="s", inputs=[], requested_output_names=["a", "a"], model_name="m", flags=1, timeout=5, parameters={"k": 2},
            preferred_memory=pb_utils.PreferredMemory(pb_utils.TRITONSERVER_MEMORY_CPU, 0), trace=pb_utils.InferenceTrace())
        self.assertEqual((request.request_id(), request.correlation_id(), request.flags(), request.timeout()), ("r", "s", 1, 5))
        self.assertEqual((request.requested_output_names(), request.inputs(), json.loads(request.parameters())), ({"a"}, [], {"k": 2}))
        self.assertIsNone(request.trace().get_context())
        request.set_flags(pb_utils.TRITONSERVER_REQUEST_FLAG_SEQUENCE_END)
        self.assertEqual(request.flags(), 2)
        needed = dict(inputs=[], requested_output_names=["a"], model_name="m")
        with self.assertRaisesRegex(pb_utils.TritonModelException, "^Correlation ID must be integer or string$"):
            pb_utils.InferenceRequest(correlation_id=1.5, **needed)
        with self.assertRaisesRegex(pb_utils.TritonModelException, "^Input tensor for request with id 'r' and model name 'm' should not be empty.$"):
            pb_utils.InferenceRequest(request_id="r", model_name="m", inputs=[None], requested_output_names=[])
        for call in (request.get_response_sender, request.is_cancelled):
            with self.assertRaisesRegex(pb_utils.TritonModelException, "requests that the model received"):
                call()
        with self.assertRaisesRegex(pb_utils.TritonModelException, "^Requested output name for request with id 'r' and model name 'm' should not be empty.$"):
            pb_utils.InferenceRequest(request_id="r", model_name="m", requested_output_names=["a", ""], inputs=[])
        for wrong in (dict(requested_output_names="a"), dict(request_id=1), dict(model_name=None), dict(preferred_memory=1), dict(trace="x"), dict(inputs=[1]),
                      dict(correlation_id=None), dict(model_version=None), dict(flags=None), dict(timeout=1.5)):
            with self.assertRaises(TypeError):
                pb_utils.InferenceRequest(**dict(needed, **wrong))
        for name in needed:
            with self.assertRaisesRegex(TypeError, "^InferenceRequest needs the argument %s$" % name):
                pb_utils.InferenceRequest(**{key: value for key, value in needed.items() if key != name})
        with self.assertRaisesRegex(pb_utils.TritonModelException, "^Unsupported release flags 0"):
            request.set_release_flags(0)

    def test_takes_texts_as_bytes(self):
        # Names that models take out of a tensor of strings.
        name = np.array(["é".encode()], dtype=object)[0]
        request = pb_utils.InferenceRequest(request_id=name, model_name=name, requested_output_names=[name], inputs=[pb_utils.Tensor(name, np.zeros(1))])
        self.assertEqual((request.request_id(), request._model_name, request.requested_output_names(), request.inputs()[0].name()), ("é", "é", {"é"}, "é"))
        self.assertEqual((pb_utils.TritonError(name).message(), pb_utils.Tensor.from_dlpack(name, np.zeros(1)).name()), ("é", "é"))
        for call in (lambda: pb_utils.TritonError(1), lambda: pb_utils.Tensor(None, np.zeros(1)), lambda: pb_utils.InferenceRequest(requested_output_names=[1], inputs=[], model_name="m")):
            with self.assertRaises(TypeError):
                call()

    def test_constants(self):
        self.assertEqual((pb_utils.TRITONSERVER_REQUEST_FLAG_SEQUENCE_START, pb_utils.TRITONSERVER_REQUEST_FLAG_SEQUENCE_END), (1, 2))
        self.assertEqual((pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL, pb_utils.TRITONSERVER_REQUEST_RELEASE_ALL, pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE), (1, 1, 2))
        self.assertEqual((pb_utils.TRITONSERVER_MEMORY_GPU, pb_utils.TRITONSERVER_MEMORY_CPU), (0, 1))

    def test_needs_a_server(self):
        for call in (pb_utils.get_model_dir, lambda: pb_utils.load_model("m"), lambda: pb_utils.MetricFamily("n", "d", pb_utils.MetricFamily.COUNTER)):
            with self.assertRaisesRegex(pb_utils.TritonModelException, "has no server in this process"):
                call()

    def test_logs_at_levels_that_there_are(self):
        for level in (None, 1, "INFO"):
            with self.assertRaises(TypeError):
                pb_utils.Logger.log("text", level)

    def test_has_the_name_of_the_compiled_module(self):
        import c_python_backend_utils

        self.assertIs(c_python_backend_utils.Tensor, pb_utils.Tensor)


class NamesTest(unittest.TestCase):
    """Everything that Triton's module offers, with the names and defaults of arguments."""

    FUNCTIONS = {
        "get_input_tensor_by_name": "inference_request name", "get_output_tensor_by_name": "inference_response name", "get_input_config_by_name": "model_config name",
        "get_output_config_by_name": "model_config name", "using_decoupled_model_transaction_policy": "model_config", "triton_to_numpy_type": "data_type",
        "numpy_to_triton_type": "data_type", "triton_string_to_numpy": "triton_type_string", "serialize_byte_tensor": "input_tensor",
        "deserialize_bytes_tensor": "encoded_tensor", "get_model_dir": "", "load_model": "model_name config='' files=None",
        "unload_model": "model_name unload_dependents=False", "is_model_ready": "model_name model_version=''",
    }
    METHODS = {
        "Tensor": {"__init__": "name numpy_array", "name": "", "as_numpy": "", "triton_dtype": "", "shape": "", "is_cpu": "", "to_dlpack": "", "from_dlpack": "name obj",
                   "__dlpack__": "stream=None **_options", "__dlpack_device__": ""},
        "InferenceRequest": {
            "__init__": "request_id='' correlation_id=0 inputs=... requested_output_names=... model_name=... model_version=-1 flags=0 timeout=0 preferred_memory=None trace=None parameters=None",
            "inputs": "", "request_id": "", "correlation_id": "", "flags": "", "set_flags": "flags", "timeout": "", "parameters": "", "trace": "", "requested_output_names": "",
            "exec": "decoupled=False", "async_exec": "decoupled=False", "get_response_sender": "", "is_cancelled": "", "set_release_flags": "flags"},
        "InferenceResponse": {"__init__": "output_tensors=() error=None parameters=None", "output_tensors": "", "has_error": "", "error": "", "parameters": ""},
        "InferenceResponseSender": {"send": "response=None flags=0", "is_cancelled": ""},
        "ResponseIterator": {"__iter__": "", "__next__": "", "cancel": ""},
        "InferenceTrace": {"get_context": ""},
        "PreferredMemory": {"__init__": "preferred_memory_type preferred_device_id=0"},
        "TritonError": {"__init__": "message code=1", "code": "", "message": ""},
        "Logger": {"log": "message level=<LogLevel.INFO: 0>", "log_info": "message", "log_warn": "message", "log_error": "message", "log_verbose": "message"},
        "MetricFamily": {"__init__": "name description kind", "Metric": "labels=None buckets=None"},
        "Metric": {"increment": "value", "set": "value", "observe": "value", "value": ""},
        "ModelConfig": {"__init__": "model_config", "as_dict": "", "set_max_batch_size": "max_batch_size", "set_dynamic_batching": "", "add_input": "input", "add_output": "output",
                        "set_model_transaction_policy": "transaction_policy_dict"},
    }
    MEMBERS = {
        "TritonError": "UNKNOWN INTERNAL NOT_FOUND INVALID_ARG UNAVAILABLE UNSUPPORTED ALREADY_EXISTS CANCELLED", "Logger": "LogLevel INFO WARNING ERROR VERBOSE",
        "MetricFamily": "COUNTER GAUGE HISTOGRAM", "MetricKind": "COUNTER GAUGE HISTOGRAM", "MemoryType": "TRITONSERVER_MEMORY_GPU TRITONSERVER_MEMORY_CPU",
    }

    @staticmethod
    def arguments(function):
        parameters = inspect.signature(function).parameters.values()
        return " ".join(str(parameter) for parameter in parameters if parameter.name != "self")

    def test_functions(self):
        self.assertEqual({name: self.arguments(getattr(pb_utils, name)) for name in self.FUNCTIONS}, self.FUNCTIONS)

    def test_methods(self):
        for name, methods in self.METHODS.items():
            self.assertEqual({method: self.arguments(getattr(getattr(pb_utils, name), method)) for method in methods}, methods, name)

    def test_members(self):
        for name, members in self.MEMBERS.items():
            for member in members.split():
                self.assertTrue(hasattr(getattr(pb_utils, name), member), (name, member))
        self.assertTrue(issubclass(pb_utils.TritonModelException, Exception))


class ModelConfigTest(unittest.TestCase):
    def test_reads_json(self):
        self.assertEqual(pb_utils.ModelConfig('{"name": "m"}').as_dict(), {"name": "m"})

    def config(self, **more):
        return pb_utils.ModelConfig(dict({"name": "m", "max_batch_size": 0, "input": [], "output": []}, **more))

    def refused(self, function, text):
        with self.assertRaises(ValueError) as caught:
            function()
        self.assertEqual(str(caught.exception), text)

    def test_completes(self):
        config = self.config()
        config.set_max_batch_size(4)
        config.set_dynamic_batching()
        config.add_input({"name": "a", "data_type": "TYPE_FP32", "dims": [-1], "optional": True})
        config.add_output({"name": "b", "data_type": "TYPE_INT8", "dims": [2]})
        config.set_model_transaction_policy({"decoupled": True})
        self.assertEqual(config.as_dict(), {
            "name": "m", "max_batch_size": 4, "dynamic_batching": {}, "model_transaction_policy": {"decoupled": True},
            "input": [{"name": "a", "data_type": "TYPE_FP32", "dims": [-1], "optional": True}], "output": [{"name": "b", "data_type": "TYPE_INT8", "dims": [2]}]})

    def test_agrees_with_what_is_written(self):
        config = self.config(max_batch_size=2, input=[{"name": "a", "data_type": "TYPE_FP32", "dims": [1]}, {"name": "x", "data_type": "TYPE_INVALID", "dims": []}])
        config.set_max_batch_size(3)
        config.add_input({"name": "a", "data_type": "TYPE_FP32", "dims": [1]})
        config.add_input({"name": "x", "data_type": "TYPE_INT8", "dims": [7]})
        self.assertEqual(config.as_dict()["input"][1], {"name": "x", "data_type": "TYPE_INT8", "dims": [7]})
        self.assertEqual(len(config.as_dict()["input"]), 2)

    def test_refuses(self):
        where = "auto-complete-config function for model 'm'"
        tensor = {"name": "a", "data_type": "TYPE_FP32", "dims": [1]}
        written = self.config(max_batch_size=4, input=[dict(tensor)], output=[dict(tensor)], model_transaction_policy={"decoupled": True})
        self.refused(lambda: written.set_max_batch_size(2), "configuration specified max_batch_size 4, but in %s specified max_batch_size 2" % where)
        self.refused(lambda: self.config(sequence_batching={}).set_dynamic_batching(),
                     "Configuration specified scheduling_choice as 'sequence_batching', but %s tries to set scheduling_choice as 'dynamic_batching'" % where)
        self.refused(lambda: written.add_input(dict(tensor, extra=1)), "input 'a' in %s contains property other than 'name', 'data_type', 'dims' and 'optional'." % where)
        self.refused(lambda: written.add_output(dict(tensor, optional=True)), "output 'a' in %s contains property other than 'name', 'data_type' and 'dims'." % where)
        self.refused(lambda: written.add_input({"data_type": "TYPE_FP32", "dims": [1]}), "input in %s is missing 'name' property." % where)
        self.refused(lambda: written.add_input({"name": "b", "dims": [1]}), "input 'b' in %s is missing 'data_type' property." % where)
        self.refused(lambda: written.add_output({"name": "b", "data_type": "TYPE_FP32"}), "output 'b' in %s is missing 'dims' property." % where)
        self.refused(lambda: written.add_input(dict(tensor, data_type="TYPE_INT8")),
                     "unable to load model 'm', configuration expects datatype TYPE_FP32 for input 'a', model provides TYPE_INT8")
        self.refused(lambda: written.add_output(dict(tensor, dims=[2])),
                     "model 'm', tensor 'a': the model expects dims [2] but the model configuration specifies dims [1]")
        self.refused(lambda: written.set_model_transaction_policy({"other": 1}), "model transaction property in %s contains property other than 'decoupled'." % where)
        self.refused(lambda: written.set_model_transaction_policy({"decoupled": False}),
                     "trying to change decoupled property in auto-complete-config for model 'm', which is already set to 'True'.")

    def test_helpers(self):
        config = {"input": [{"name": "a"}], "output": [{"name": "b"}], "model_transaction_policy": {"decoupled": True}}
        self.assertEqual(pb_utils.get_input_config_by_name(config, "a"), {"name": "a"})
        self.assertIsNone(pb_utils.get_input_config_by_name(config, "b"))
        self.assertEqual(pb_utils.get_output_config_by_name(config, "b"), {"name": "b"})
        self.assertTrue(pb_utils.using_decoupled_model_transaction_policy(config))
        self.assertFalse(pb_utils.using_decoupled_model_transaction_policy({}))


class RegionTest(unittest.TestCase):
    def region(self, size=4096, growth=4096):
        import tempfile

        self.file = tempfile.TemporaryFile()
        self.addCleanup(self.file.close)
        return OwnRegion(self.file.fileno(), size, growth)

    def test_gives_memory_again_and_joins_neighbours(self):
        region = self.region()
        blocks = [region.write(np.full(1000, value, np.uint8)) for value in range(4)]
        self.assertEqual(blocks, [0, 1024, 2048, 3072])
        self.file.seek(1024)
        self.assertEqual(self.file.read(1000), b"\x01" * 1000)
        region.release([blocks[1], blocks[2]])
        self.assertEqual(region.write(np.zeros(2048, np.uint8)), 1024)
        region.release([0, 1024, 3072])
        self.assertEqual((region._free, region.used_blocks), ([(0, 4096)], 0))

    def test_grows_by_steps_and_keeps_what_is_there(self):
        region = self.region()
        first = region.write(np.full(100, 7, np.uint8))
        second = region.write(np.full(10000, 8, np.uint8))
        self.assertEqual(region._size % 4096, 0)
        self.file.seek(first)
        self.assertEqual(self.file.read(100), b"\x07" * 100)
        self.file.seek(second)
        self.assertEqual(self.file.read(10000), b"\x08" * 10000)

    def test_says_when_there_is_no_memory(self):
        region = self.region(growth=1 << 62)
        with self.assertRaisesRegex(pb_utils.TritonModelException, "^Failed to increase the shared memory pool by .* Give /dev/shm more memory"):
            region.write(np.zeros(8192, np.uint8))
        self.assertEqual(region.write(np.zeros(64, np.uint8)), 0)


if __name__ == "__main__":
    unittest.main()
