"""Memory that the server and this process map: a region has one owner, which allocates; the other side only looks."""

import ctypes
import mmap
import os
import threading

import numpy as np

from .errors import TritonModelException

_ALIGNMENT = 64


class _Mapping:
    def __init__(self, descriptor, size):
        self.memory = mmap.mmap(descriptor, size)
        self.size = size
        # Keeps the mapping, too: it is not unmapped while something points into it.
        self._anchor = ctypes.c_char.from_buffer(self.memory)
        self.address = ctypes.addressof(self._anchor)
        self.bytes = np.frombuffer(self.memory, dtype=np.uint8)


class Block:
    """A piece of a region as memory for an array; calls `released` when nothing refers to it any more."""

    def __init__(self, mapping, offset, length, released=None):
        self._mapping = mapping
        self._offset = offset
        self._released = released
        self.__array_interface__ = {"version": 3, "shape": (length,), "typestr": "|u1", "data": (mapping.address + offset, False)}

    def __del__(self):
        if self._released is not None:
            self._released(self._offset)


class ServerRegion:
    """The server's memory: inputs, and answers to requests that the model makes itself."""

    def __init__(self, descriptor):
        self._descriptor = descriptor
        self._mappings = []

    def block(self, offset, length, released=None):
        """An array of `length` bytes from `offset` on; `released` is called with `offset` when it is not used any more."""
        if length == 0:
            if released is not None:
                released(offset)
            return np.empty(0, dtype=np.uint8)
        mapping = self._mappings[-1] if self._mappings else None
        if mapping is None or offset + length > mapping.size:
            mapping = _Mapping(self._descriptor, os.fstat(self._descriptor).st_size)
            self._mappings.append(mapping)
        if released is None:
            return mapping.bytes[offset : offset + length]
        return np.asarray(Block(mapping, offset, length, released))

    def offset_of(self, address, length):
        """Where memory lies in this region; None: elsewhere."""
        for mapping in self._mappings:
            if mapping.address <= address and address + length <= mapping.address + mapping.size:
                return address - mapping.address
        return None


class OwnRegion:
    """Memory for what goes to the server. Grows by whole steps, and never shrinks."""

    def __init__(self, descriptor, size, growth):
        self._descriptor = descriptor
        self._size = 0
        self._step = max(growth, 4096)
        self._mapping = None
        self._free = []  # (offset, length), by offset, never two that touch
        self._used = {}
        self._lock = threading.Lock()
        self._extend(size)

    def write(self, array):
        """Copies an array of uint8 in. Returns its offset. Raises TritonModelException where shared memory is exhausted."""
        length = array.size
        if length == 0:
            return 0
        with self._lock:
            offset = self._take(-(-length // _ALIGNMENT) * _ALIGNMENT)
            memory = self._mapping.bytes
        memory[offset : offset + length] = array
        return offset

    def release(self, offsets):
        with self._lock:
            for offset in offsets:
                length = self._used.pop(offset, None)
                if length is not None:
                    self._give_back(offset, length)

    @property
    def used_blocks(self):
        return len(self._used)

    def _take(self, length):
        for index, (offset, size) in enumerate(self._free):
            if size >= length:
                break
        else:
            # The last piece may reach to the end, and is part of the answer then.
            tail = self._free[-1] if self._free and sum(self._free[-1]) == self._size else (self._size, 0)
            self._grow(length - tail[1])
            index = len(self._free) - 1
            offset, size = self._free[index]
        if size == length:
            del self._free[index]
        else:
            self._free[index] = (offset + length, size - length)
        self._used[offset] = length
        return offset

    def _grow(self, missing):
        self._extend(-(-missing // self._step) * self._step)

    def _extend(self, added):
        try:
            # Claims the pages, so that a full file system is an error here and no signal later.
            os.posix_fallocate(self._descriptor, self._size, added)
        except OSError as error:
            raise TritonModelException(
                "Failed to increase the shared memory pool by %d bytes to %d: %s. Give /dev/shm more memory (mount -o remount,size=... /dev/shm, for containers --shm-size)."
                % (added, self._size + added, error.strerror)
            )
        start = self._size
        self._size += added
        self._mapping = _Mapping(self._descriptor, self._size)
        self._give_back(start, added)

    def _give_back(self, offset, length):
        free = self._free
        low, high = 0, len(free)
        while low < high:
            middle = (low + high) // 2
            if free[middle][0] < offset:
                low = middle + 1
            else:
                high = middle
        if low < len(free) and offset + length == free[low][0]:
            length += free[low][1]
            del free[low]
        if low > 0 and sum(free[low - 1]) == offset:
            free[low - 1] = (free[low - 1][0], free[low - 1][1] + length)
        else:
            free.insert(low, (offset, length))
