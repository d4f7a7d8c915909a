"""Triton's datatypes, those of numpy, and the bytes of strings."""

import struct

import numpy as np

# The server's enum TRITONSERVER_DataType, its protocol names and numpy's types. BF16 has none in numpy.
_ROWS = (
    (1, "BOOL", np.bool_),
    (2, "UINT8", np.uint8),
    (3, "UINT16", np.uint16),
    (4, "UINT32", np.uint32),
    (5, "UINT64", np.uint64),
    (6, "INT8", np.int8),
    (7, "INT16", np.int16),
    (8, "INT32", np.int32),
    (9, "INT64", np.int64),
    (10, "FP16", np.float16),
    (11, "FP32", np.float32),
    (12, "FP64", np.float64),
    (13, "BYTES", np.object_),
)

NUMBER_OF = {name: number for number, name, _type in _ROWS}
NUMBER_OF["BF16"] = 14
NUMPY_OF = {name: np.dtype(numpy_type) for _number, name, numpy_type in _ROWS if name != "BYTES"}
# How the bytes of a BF16 tensor are held.
NUMPY_OF["BF16"] = np.dtype(np.uint16)

_TO_NUMPY = {number: numpy_type for number, _name, numpy_type in _ROWS}
_TO_NUMBER = {numpy_type: number for number, _name, numpy_type in _ROWS}
_TO_NUMBER[np.bytes_] = 13
TRITON_STRING_TO_NUMPY = {"TYPE_" + name: numpy_type for _number, name, numpy_type in _ROWS if name != "BYTES"}
TRITON_STRING_TO_NUMPY.update(TYPE_BOOL=bool, TYPE_STRING=np.object_)


def triton_to_numpy_type(data_type):
    """The numpy type for a number of TRITONSERVER_DataType. None for BF16 and unknown numbers."""
    return _TO_NUMPY.get(data_type)


def numpy_to_triton_type(data_type):
    """The number of TRITONSERVER_DataType for a numpy type or dtype. None where there is none."""
    return _TO_NUMBER.get(data_type.type if isinstance(data_type, np.dtype) else data_type)


def triton_string_to_numpy(triton_type_string):
    """The numpy type for a type of config.pbtxt, such as "TYPE_FP32". Raises KeyError for TYPE_BF16 and unknown names."""
    return TRITON_STRING_TO_NUMPY[triton_type_string]


def text_of(value, what):
    """A text that a model gave as str or, as names that come out of a tensor are, as bytes in UTF-8. `what` begins the text of the TypeError for others."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bytes, bytearray)):
        return value.decode("utf-8")
    raise TypeError("%s as str, not %s" % (what, type(value)))


def protocol_name(dtype):
    """"FP32" for float32; None where Triton has no such type."""
    if dtype.kind in "OS":
        return "BYTES"
    number = _TO_NUMBER.get(dtype.type)
    return None if number is None else _ROWS[number - 1][1]


def serialize_byte_tensor(input_tensor):
    """The elements of an array of strings, in C order, each with its length before it (4 bytes, little-endian). None for other arrays."""
    if input_tensor.dtype.kind not in "OS":
        return None
    parts = []
    for item in input_tensor.ravel(order="C").tolist():
        if not isinstance(item, bytes):
            item = str(item).encode("utf-8")
        parts.append(struct.pack("<I", len(item)))
        parts.append(item)
    return b"".join(parts)


def deserialize_bytes_tensor(encoded_tensor):
    """A flat array of `bytes` objects from what `serialize_byte_tensor` makes."""
    encoded = bytes(encoded_tensor)
    strings = []
    offset = 0
    while offset < len(encoded):
        (length,) = struct.unpack_from("<I", encoded, offset)
        offset += 4
        if offset + length > len(encoded):
            raise ValueError("a string of %d bytes does not fit into the %d bytes that are left of the tensor" % (length, len(encoded) - offset))
        strings.append(encoded[offset : offset + length])
        offset += length
    array = np.empty(len(strings), dtype=np.object_)
    array[:] = strings
    return array
