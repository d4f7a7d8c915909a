"""DLPack capsules: numpy's own cover neither BF16 nor, in older releases, bool and read-only arrays."""

import ctypes

import numpy as np

from .errors import TritonModelException

CPU = 1
_CUDA_KINDS = (2, 3, 13)  # device memory, pinned, managed
_INT, _UINT, _FLOAT, _BFLOAT, _BOOL = 0, 1, 2, 4, 6

# The interpreter keeps the pointer to a capsule's name.
_NAME = b"dltensor"
_USED_NAME = b"used_dltensor"


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _ManagedTensor(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("manager_ctx", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


_python = ctypes.pythonapi
_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
# With addresses, since a capsule that is being destroyed must not be referred to again.
_python.PyCapsule_IsValid.restype = ctypes.c_int
_python.PyCapsule_IsValid.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
_python.PyCapsule_GetPointer.restype = ctypes.c_void_p
_python.PyCapsule_GetPointer.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
_python.PyCapsule_SetName.restype = ctypes.c_int
_python.PyCapsule_SetName.argtypes = [ctypes.c_void_p, ctypes.c_char_p]

# What capsules refer to, by the address of their struct, until their deleter is called.
_alive = {}


@_Deleter
def _delete(address):
    _alive.pop(address, None)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _destroy_capsule(capsule):
    # One that somebody consumed has another name, and an owner that calls the deleter.
    if _python.PyCapsule_IsValid(capsule, _NAME):
        _delete(_python.PyCapsule_GetPointer(capsule, _NAME))


_KINDS = {"b": _BOOL, "i": _INT, "u": _UINT, "f": _FLOAT}


def capsule_of(array, is_bfloat16, owner):
    """A capsule on the memory of a C-contiguous array, which it keeps alive, as it does the owner."""
    code = _BFLOAT if is_bfloat16 else _KINDS[array.dtype.kind]
    shape = (ctypes.c_int64 * max(1, array.ndim))(*array.shape)
    managed = _ManagedTensor()
    tensor = managed.tensor
    tensor.data = array.ctypes.data
    tensor.device_type, tensor.device_id = CPU, 0
    tensor.ndim = array.ndim
    tensor.code, tensor.bits, tensor.lanes = code, array.dtype.itemsize * 8, 1
    tensor.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
    managed.deleter = ctypes.cast(_delete, ctypes.c_void_p)
    address = ctypes.addressof(managed)
    _alive[address] = (managed, shape, array, owner)
    return _python.PyCapsule_New(address, _NAME, ctypes.cast(_destroy_capsule, ctypes.c_void_p))


class _Foreign:
    """Memory that belongs to whoever made a capsule, until no array refers to it any more."""

    def __init__(self, managed, address, interface):
        self._managed = managed
        self._address = address
        self.__array_interface__ = interface

    def __del__(self):
        if self._managed.deleter:
            _Deleter(self._managed.deleter)(self._address)


def array_of(obj):
    """The array behind a capsule, or behind an object with `__dlpack__`, without a copy; and whether it holds BF16 values.

    Raises TritonModelException for memory that is not the CPU's, not in C order, or of a type that Triton does not have.
    """
    capsule = obj
    if type(obj).__name__ != "PyCapsule":
        if not hasattr(obj, "__dlpack__") or not hasattr(obj, "__dlpack_device__"):
            raise TritonModelException("Provided tensor is not supported. Tensor must be a DLPack capsule or have `__dlpack__` and `__dlpack_device__` attributes")
        device_type, _device = obj.__dlpack_device__()
        _require_cpu(int(device_type))
        capsule = obj.__dlpack__(stream=None)
    identity = id(capsule)
    if not _python.PyCapsule_IsValid(identity, _NAME):
        raise TritonModelException("This is no DLPack capsule, or one that was consumed before: a capsule can be used once only.")
    address = _python.PyCapsule_GetPointer(identity, _NAME)
    managed = _ManagedTensor.from_address(address)
    tensor = managed.tensor
    _require_cpu(tensor.device_type)
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    if tensor.strides and not _is_contiguous(shape, [tensor.strides[axis] for axis in range(tensor.ndim)]):
        raise TritonModelException("DLPack tensor is not contiguous. Only contiguous DLPack tensors that are stored in C-Order are supported.")
    dtype = _dtype_of(tensor)
    data = (tensor.data or 0) + tensor.byte_offset
    _python.PyCapsule_SetName(identity, _USED_NAME)
    is_bfloat16 = tensor.code == _BFLOAT
    foreign = _Foreign(managed, address, {"version": 3, "shape": shape, "typestr": dtype.str, "data": (data, False), "strides": None})
    if 0 in shape or data == 0:
        return np.empty(shape, dtype=dtype), is_bfloat16
    return np.asarray(foreign), is_bfloat16


def _require_cpu(device_type):
    if device_type == CPU:
        return
    if device_type in _CUDA_KINDS:
        raise TritonModelException("DLDevice type %d is the memory of a GPU, which this server does not have. Copy the tensor to the CPU first, for example with tensor.cpu()." % device_type)
    raise TritonModelException("DLDevice type %d is not support by Python backend." % device_type)


def _is_contiguous(shape, strides):
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def _dtype_of(tensor):
    letter = {_INT: "i", _UINT: "u", _FLOAT: "f", _BFLOAT: "u", _BOOL: "b"}.get(tensor.code)
    size = tensor.bits // 8
    sizes = {"i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8), "b": (1,)}.get(letter, ())
    if tensor.lanes != 1 or tensor.bits % 8 or size not in sizes or (tensor.code == _BFLOAT and size != 2):
        raise TritonModelException("DLPack type with code %d, %d bits and %d lanes is not supported by Python backend." % (tensor.code, tensor.bits, tensor.lanes))
    return np.dtype("?" if letter == "b" else "%s%d" % (letter, size))
