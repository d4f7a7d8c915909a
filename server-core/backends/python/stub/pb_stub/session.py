"""What this process has of its server: the socket, the memory, and calls that wait for an answer."""

import collections
import itertools
import json
import os
import queue
import signal
import socket
import struct
import sys
import threading
import traceback
import weakref

import numpy as np

from .errors import TritonModelException
from .region import OwnRegion, ServerRegion
from .tensor import Tensor

# What the main thread works on comes over one socket, which it reads itself: a batch wakes one thread only. What must get through while it works comes over
# the other one. All answers go over the first.
SOCKET_DESCRIPTOR = 3
SERVER_MEMORY_DESCRIPTOR = 4
OWN_MEMORY_DESCRIPTOR = 5
CONTROL_DESCRIPTOR = 6

_LENGTH = struct.Struct("<I")
_CHUNK = 1 << 16
_OWN_DIRECTORY = os.path.dirname(__file__)

_encode = json.JSONEncoder(separators=(",", ":")).encode
_decode = json.JSONDecoder().decode


class _Reader:
    """The messages of a socket."""

    def __init__(self, source):
        self._socket = source
        self._received = bytearray()

    def receive(self):
        """The next message; None: the server is gone."""
        received = self._received
        end = None
        while True:
            if end is None and len(received) >= _LENGTH.size:
                end = _LENGTH.size + _LENGTH.unpack_from(received)[0]
            if end is not None and len(received) >= end:
                message = _decode(received[_LENGTH.size : end].decode("utf-8"))
                del received[:end]
                return message
            chunk = self._socket.recv(_CHUNK if end is None else max(_CHUNK, end - len(received)))
            if not chunk:
                return None
            received += chunk


class Session:
    """One process, one session: `current` below."""

    def __init__(self):
        for descriptor in (SOCKET_DESCRIPTOR, SERVER_MEMORY_DESCRIPTOR, OWN_MEMORY_DESCRIPTOR, CONTROL_DESCRIPTOR):
            os.set_inheritable(descriptor, False)
        self.name = ""
        self.version_directory = ""
        # Requests of the model itself are answered while it executes only.
        self.may_infer = False
        # Requests under way, by number: what a cancellation is told to. One may come before the main thread has made the request, whose numbers only rise.
        self._requests = weakref.WeakValueDictionary()
        self._last_request = 0
        self._cancelled = set()
        self._requests_lock = threading.Lock()
        self._socket = socket.socket(fileno=SOCKET_DESCRIPTOR)
        self._process_id = os.getpid()
        self._work = _Reader(self._socket)
        self._control = _Reader(socket.socket(fileno=CONTROL_DESCRIPTOR))
        self._send_lock = threading.Lock()
        self._server_memory = ServerRegion(SERVER_MEMORY_DESCRIPTOR)
        self._own_memory = None
        self._calls = {}
        self._numbers = itertools.count(1)
        # Filled by finalizers, which run anywhere and so must not wait for a lock; goes out with the next message.
        self._released = collections.deque()
        self._left = collections.deque()

    def open(self, name, version_directory, memory_size, memory_growth):
        self.name = name
        self.version_directory = version_directory
        self._own_memory = OwnRegion(OWN_MEMORY_DESCRIPTOR, memory_size, memory_growth)

    @property
    def is_forked(self):
        """Is this a process that the model forked? Answers would go to the model's own, and memory has one owner."""
        return os.getpid() != self._process_id

    def require_own_process(self):
        """Raises TritonModelException in a process that the model forked."""
        if self.is_forked:
            raise TritonModelException("A process that was forked from the model's own cannot use the server: make requests and send responses in the process of the model, in threads where need be.")

    def start_reading(self):
        threading.Thread(target=self._read, name="server-messages", daemon=True).start()

    # Messages

    def send(self, message):
        self.require_own_process()
        released = []
        while self._released:
            released.append(self._released.popleft())
        if released:
            message["free"] = released
        data = _encode(message).encode("ascii")
        with self._send_lock:
            self._socket.sendall(_LENGTH.pack(len(data)) + data)

    def call(self, message):
        """Sends a question and waits for its answer. Raises TritonModelException with the server's text."""
        answer = self.call_for_answers(message).get()
        if "error" in answer:
            raise TritonModelException(answer["error"])
        return answer.get("value")

    def call_for_answers(self, message, listener=None):
        """Sends a question that may be answered several times: a queue of messages, or each one given to `listener` (on the reading thread)."""
        number = next(self._numbers)
        answers = None if listener is not None else queue.SimpleQueue()
        self._calls[number] = listener if listener is not None else answers.put
        message["call"] = number
        self.send(message)
        return answers

    def leave(self, message):
        """For finalizers: goes out within a second."""
        self._left.append(message)

    def receive(self):
        """What the main thread is to do next; None: the server is gone."""
        try:
            message = self._work.receive()
        except OSError:
            return None
        if message is not None:
            self._take_freed(message)
        return message

    def _read(self):
        try:
            while True:
                message = self._control.receive()
                if message is None:
                    break
                self._take_freed(message)
                self._take(message)
        except OSError:
            pass
        end_process_group()

    def _take_freed(self, message):
        freed = message.get("free")
        if freed:
            self._own_memory.release(freed)

    def _take(self, message):
        operation = message["op"]
        if operation == "answer":
            number = message["call"]
            take = self._calls.get(number)
            if message.get("final", True):
                self._calls.pop(number, None)
            if take is not None:
                take(message)
        elif operation == "ping":
            while self._left:
                self.send(self._left.popleft())
            self.send({"op": "pong"})
        elif operation == "cancel":
            self._cancel(message["request"])
        elif operation in ("hold", "go"):
            self._gate(message["request"], operation == "hold")
        elif operation == "stack":
            self.send({"op": "stack", "stack": _main_stack()})

    def _cancel(self, number):
        with self._requests_lock:
            reply = self._requests.get(number)
            if reply is not None:
                reply.is_cancelled = True
                # Nobody takes the answers any more.
                if reply.gate is not None:
                    reply.gate.set()
            elif number > self._last_request:
                self._cancelled.add(number)

    def _gate(self, number, is_closed):
        with self._requests_lock:
            reply = self._requests.get(number)
            if reply is None:
                return
            if reply.gate is None:
                reply.gate = threading.Event()
            if is_closed and not reply.is_cancelled:
                reply.gate.clear()
            else:
                reply.gate.set()

    def register(self, number, reply):
        """A request that cancellations are told to from now on, as long as it is there."""
        with self._requests_lock:
            self._requests[number] = reply
            self._last_request = number
            if number in self._cancelled:
                self._cancelled.discard(number)
                reply.is_cancelled = True

    # Tensors

    def tensors_of(self, described, is_released_by_us=False):
        """The tensors of a message; where they stay ours, the server hears when they are not used any more."""
        released = self._released.append if is_released_by_us else None
        return [Tensor._of_memory(name, datatype, shape, self._server_memory.block(offset, length, released)) for name, datatype, shape, offset, length in described]

    def describe(self, tensors):
        """Puts tensors where the server finds them. Those that are views of its own memory stay where they are."""
        self.require_own_process()
        described = []
        try:
            for tensor in tensors:
                memory = tensor._memory()
                offset = self._server_memory.offset_of(memory.__array_interface__["data"][0], memory.size) if memory.size > 0 else None
                described.append([tensor._name, tensor._datatype, tensor._shape, 1 if offset is None else 0, self._own_memory.write(memory) if offset is None else offset, memory.size])
        except TritonModelException:
            self._own_memory.release([entry[4] for entry in described if entry[3] == 1 and entry[5] > 0])
            raise
        return described

    def put(self, content):
        """Puts bytes where the server finds them, until it says that it is done: offset and length."""
        self.require_own_process()
        array = np.frombuffer(content, dtype=np.uint8)
        return [self._own_memory.write(array), array.size]


def _main_stack():
    """Where the main thread is, innermost last; without what calls the model."""
    frame = sys._current_frames().get(threading.main_thread().ident)
    places = traceback.extract_stack(frame)
    while places and (os.path.dirname(places[0].filename) == _OWN_DIRECTORY or os.path.basename(places[0].filename) == "triton_python_backend_stub.py"):
        del places[0]
    return "".join(traceback.format_list(places))


def end_process_group():
    """The server is gone: nothing of this instance stays behind."""
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)


_current = None


def open_session():
    global _current
    _current = Session()
    return _current


def current(is_fork_welcome=False):
    """The session of this process. Raises TritonModelException in a process that the server did not start."""
    if _current is None:
        raise TritonModelException("triton_python_backend_utils has no server in this process: only the process that the server started for the model has.")
    if not is_fork_welcome:
        _current.require_own_process()
    return _current
