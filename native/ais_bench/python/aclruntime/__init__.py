"""The names of Huawei's aclruntime that programs use beside ais_bench: tensors and element types."""

import enum

import numpy as np


class dtype(enum.IntEnum):
    """Element types, numbered as AscendCL does."""

    float32 = 0
    float16 = 1
    int8 = 2
    int32 = 3
    uint8 = 4
    int16 = 6
    uint16 = 7
    uint32 = 8
    int64 = 9
    uint64 = 10
    float64 = 11
    bool = 12
    complex64 = 16
    complex128 = 17


class Tensor:
    """A tensor that infer takes and gives. It lies in host memory; to_device is accepted, and the copy happens when it is used."""

    def __init__(self, array):
        self._array = np.ascontiguousarray(array)

    def to_device(self, device_id):
        """Nothing to do: see the class."""

    def to_host(self):
        """Nothing to do: see the class."""

    @property
    def shape(self):
        return list(self._array.shape)

    @property
    def size(self):
        """Number of elements."""
        return self._array.size

    @property
    def dtype(self):
        return dtype[self._array.dtype.name]

    def __array__(self, dtype=None, copy=None):
        array = self._array if dtype is None else self._array.astype(dtype)
        return array.copy() if copy else array

    def __repr__(self):
        return "aclruntime.Tensor(shape=%s, dtype=%s)" % (self.shape, self._array.dtype.name)
