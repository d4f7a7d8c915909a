"""The C library (native/ais_bench/om_api.h), called through ctypes. Every failure is a RuntimeError with CANN's code in plain words."""

import ctypes
import json
import os

import numpy as np

_I64 = ctypes.c_int64

#: Folder with CANN's libraries; without it the loader searches by itself (LD_LIBRARY_PATH, as set_env.sh sets it).
LIBRARY_VARIABLE = "NPU_CONSOLE_CANN_LIBRARY_DIRECTORY"


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t), ("dims", ctypes.POINTER(_I64)), ("rank", ctypes.c_size_t)]


def _load():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libnpu_console_om.so")
    if not os.path.exists(path):
        raise ImportError(path + " is not there: build the console's native parts (node scripts/build.mjs --only native) and use dist/native/python")
    library = ctypes.CDLL(path)
    for name, result, arguments in (
        ("npu_om_error", ctypes.c_char_p, []),
        ("npu_om_device_count", ctypes.c_int32, [ctypes.c_char_p]),
        ("npu_om_open", ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_int32, ctypes.c_char_p, ctypes.c_char_p]),
        ("npu_om_close", None, [ctypes.c_void_p]),
        ("npu_om_describe", ctypes.c_char_p, [ctypes.c_void_p]),
        ("npu_om_run", ctypes.c_int, [ctypes.c_void_p, ctypes.POINTER(_Tensor), ctypes.c_size_t, ctypes.POINTER(ctypes.c_double)]),
        ("npu_om_output", ctypes.c_int, [ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(_Tensor)]),
    ):
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library


_LIBRARY = _load()


def _failure():
    return RuntimeError(_LIBRARY.npu_om_error().decode("utf-8", "replace"))


def _cann():
    return os.environ.get(LIBRARY_VARIABLE, "").encode()


def device_count():
    """How many logical devices this process sees."""
    count = _LIBRARY.npu_om_device_count(_cann())
    if count < 0:
        raise _failure()
    return count


class Session:
    """One loaded copy of a model; used by one thread at a time."""

    def __init__(self, device_id, model_path, acl_json_path=None):
        self._handle = None
        handle = _LIBRARY.npu_om_open(_cann(), device_id, os.fsencode(model_path), None if acl_json_path is None else os.fsencode(acl_json_path))
        if not handle:
            raise _failure()
        self._handle = handle
        #: What the model is: graph, gear_kind, gears, inputs, outputs (native/tools/om_json.h).
        self.description = json.loads(_LIBRARY.npu_om_describe(handle).decode())

    def run(self, feeds):
        """
        :param feeds: (C-contiguous array, shape as the model sees it) of each input
        :returns: milliseconds of copy in, run and copy out
        """
        if self._handle is None:
            raise RuntimeError("the session was freed: make a new InferSession")
        tensors = (_Tensor * max(1, len(feeds)))()
        for tensor, (array, shape) in zip(tensors, feeds):
            tensor.data, tensor.bytes, tensor.dims, tensor.rank = array.ctypes.data, array.nbytes, (_I64 * max(1, len(shape)))(*shape), len(shape)
        milliseconds = (ctypes.c_double * 3)()
        if _LIBRARY.npu_om_run(self._handle, tensors, len(feeds), milliseconds) != 0:
            raise _failure()
        return tuple(milliseconds)

    def output(self, index, item_type):
        """A copy of an output of the last run; item_type None: its bytes."""
        tensor = _Tensor()
        if _LIBRARY.npu_om_output(self._handle, index, ctypes.byref(tensor)) != 0:
            raise _failure()
        array = np.empty(tensor.bytes, np.uint8) if item_type is None else np.empty(tensor.dims[:tensor.rank], item_type)
        ctypes.memmove(array.ctypes.data, tensor.data, tensor.bytes)
        return array

    def close(self):
        """Frees the memory of the card. A second call does nothing."""
        handle, self._handle = self._handle, None
        if handle is not None:
            _LIBRARY.npu_om_close(handle)
