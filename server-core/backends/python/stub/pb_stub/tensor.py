import numpy as np

from . import dlpack
from .data_types import NUMBER_OF, NUMPY_OF, deserialize_bytes_tensor, protocol_name, serialize_byte_tensor, text_of
from .errors import TritonModelException


class Tensor:
    """A named tensor. Those of a request are views of shared memory, valid until the request is released."""

    __slots__ = ("_name", "_datatype", "_shape", "_array", "_raw", "__weakref__")

    def __init__(self, name, numpy_array):
        if not isinstance(numpy_array, (np.ndarray, np.generic)):
            raise TypeError("Tensor takes a numpy array, not %s" % type(numpy_array))
        name = _name_of(name)
        array = np.asarray(numpy_array)
        datatype = protocol_name(array.dtype)
        if datatype is None:
            raise TritonModelException("NumPy dtype is not supported.")
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        # An array without dimensions stays so, which ascontiguousarray would change.
        if not array.flags.c_contiguous:
            array = np.ascontiguousarray(array)
        self._name = name
        self._datatype = datatype
        self._shape = list(array.shape)
        self._array = array
        # BYTES: as the protocol has it. What the model changes in the array later has no effect on the tensor.
        self._raw = np.frombuffer(serialize_byte_tensor(array), dtype=np.uint8) if datatype == "BYTES" else None

    @classmethod
    def _of_memory(cls, name, datatype, shape, memory):
        """A tensor on memory (an array of uint8) that holds its raw form."""
        tensor = cls.__new__(cls)
        tensor._name = name
        tensor._datatype = datatype
        tensor._shape = list(shape)
        if datatype == "BYTES":
            tensor._array = None
            tensor._raw = memory
        else:
            tensor._array = memory.view(NUMPY_OF[datatype]).reshape(shape)
            tensor._raw = None
        return tensor

    def _memory(self):
        """The raw form, as an array of uint8 without a copy."""
        if self._raw is not None:
            return self._raw
        return self._array.reshape(-1).view(np.uint8)

    def name(self):
        return self._name

    def as_numpy(self):
        if self._datatype == "BF16":
            raise TritonModelException("Tensor dtype is BF16 and cannot be converted to NumPy. Use to_dlpack() and from_dlpack() instead.")
        if self._array is None:
            self._array = deserialize_bytes_tensor(self._raw).reshape(self._shape)
        return self._array

    def triton_dtype(self):
        """The number of TRITONSERVER_DataType."""
        return NUMBER_OF[self._datatype]

    def shape(self):
        return list(self._shape)

    def is_cpu(self):
        """True: this server has no tensors in the memory of devices."""
        return True

    def to_dlpack(self):
        if self._datatype == "BYTES":
            raise TritonModelException("DLPack does not have support for string tensors.")
        return dlpack.capsule_of(self._array, self._datatype == "BF16", self)

    @staticmethod
    def from_dlpack(name, obj):
        name = _name_of(name)
        array, is_bfloat16 = dlpack.array_of(obj)
        if not is_bfloat16:
            return Tensor(name, array)
        return Tensor._of_memory(name, "BF16", array.shape, array.reshape(-1).view(np.uint8))

    def __dlpack__(self, stream=None, **_options):
        if stream is not None:
            raise TritonModelException("A tensor on the CPU has no stream: stream must be None.")
        return self.to_dlpack()

    def __dlpack_device__(self):
        return (dlpack.CPU, 0)


def _name_of(name):
    name = text_of(name, "Tensor takes the name")
    if name == "":
        raise TritonModelException("Tensor name cannot be an empty string.")
    return name


def get_input_tensor_by_name(inference_request, name):
    """The input of that name, or None."""
    return _find(inference_request.inputs(), name)


def get_output_tensor_by_name(inference_response, name):
    """The output of that name, or None."""
    return _find(inference_response.output_tensors(), name)


def _find(tensors, name):
    for tensor in tensors:
        if tensor.name() == name:
            return tensor
    return None
