import asyncio
import enum
import numbers

from .data_types import text_of
from .errors import TritonModelException
from .response import InferenceResponse, InferenceResponseSender, Reply, ResponseIterator, check_parameters, check_tensors, parameters_for_server
from .session import current

TRITONSERVER_REQUEST_FLAG_SEQUENCE_START = 1
TRITONSERVER_REQUEST_FLAG_SEQUENCE_END = 2
TRITONSERVER_REQUEST_RELEASE_ALL = 1
TRITONSERVER_REQUEST_RELEASE_RESCHEDULE = 2


class MemoryType(enum.IntEnum):
    TRITONSERVER_MEMORY_GPU = 0
    TRITONSERVER_MEMORY_CPU = 1


TRITONSERVER_MEMORY_GPU = MemoryType.TRITONSERVER_MEMORY_GPU
TRITONSERVER_MEMORY_CPU = MemoryType.TRITONSERVER_MEMORY_CPU


class PreferredMemory:
    """Where the model would like outputs of its own requests to lie. This server has memory of the CPU only."""

    def __init__(self, preferred_memory_type, preferred_device_id=0):
        self.preferred_memory_type = MemoryType(preferred_memory_type)
        self.preferred_device_id = preferred_device_id


class InferenceTrace:
    """The trace of a request. Given to a request that the model makes, that one is traced as a child of the first."""

    def __init__(self):
        self._request = None

    @classmethod
    def _of_request(cls, number):
        trace = cls()
        trace._request = number
        return trace

    def get_context(self):
        """The OpenTelemetry context of the request as JSON. None: this server traces in Triton's format only, which has none."""
        return None


class _Required:
    """The default of arguments that have to be given though they follow such that have not: Triton's order."""

    def __repr__(self):
        return "..."


_REQUIRED = _Required()


class InferenceRequest:
    """A request to this model, or one that this model makes to another."""

    def __init__(
        self,
        request_id="",
        correlation_id=0,
        inputs=_REQUIRED,
        requested_output_names=_REQUIRED,
        model_name=_REQUIRED,
        model_version=-1,
        flags=0,
        timeout=0,
        preferred_memory=None,
        trace=None,
        parameters=None,
    ):
        for name, value in (("inputs", inputs), ("requested_output_names", requested_output_names), ("model_name", model_name)):
            if value is _REQUIRED:
                raise TypeError("InferenceRequest needs the argument %s" % name)
        for name, value in (("model_version", model_version), ("flags", flags), ("timeout", timeout)):
            if not isinstance(value, numbers.Integral):
                raise TypeError("InferenceRequest takes %s as int, not %s" % (name, type(value)))
        if correlation_id is None:
            raise TypeError("InferenceRequest takes the correlation_id as int or str, not None")
        if not isinstance(correlation_id, (int, str)):
            raise TritonModelException("Correlation ID must be integer or string")
        if preferred_memory is not None and not isinstance(preferred_memory, PreferredMemory):
            raise TypeError("preferred_memory must be a PreferredMemory, not %s" % type(preferred_memory))
        if isinstance(requested_output_names, (str, bytes)):
            raise TypeError("requested_output_names must be a list of str, not a str")
        self._request_id = request_id = text_of(request_id, "InferenceRequest takes the request_id")
        self._model_name = model_name = text_of(model_name, "InferenceRequest takes the model_name")
        self._correlation_id = correlation_id
        self._inputs = check_tensors(inputs, "Input tensor for request with id '%s' and model name '%s' should not be empty." % (request_id, model_name))
        self._requested_output_names = {text_of(name, "InferenceRequest takes requested_output_names") for name in requested_output_names}
        if "" in self._requested_output_names:
            raise TritonModelException("Requested output name for request with id '%s' and model name '%s' should not be empty." % (request_id, model_name))
        self._model_version = int(model_version)
        self._flags = int(flags)
        self._timeout = int(timeout)
        self._preferred_memory = preferred_memory
        if trace is not None and not isinstance(trace, InferenceTrace):
            raise TypeError("trace must be an InferenceTrace, not %s" % type(trace))
        self._trace = InferenceTrace() if trace is None else trace
        self._parameters = check_parameters(parameters)
        self._release_flags = TRITONSERVER_REQUEST_RELEASE_ALL
        self._reply = None

    @classmethod
    def _of_message(cls, session, message, is_decoupled):
        request = cls.__new__(cls)
        correlation_id = message["correlation"]
        request._request_id = message["id"]
        request._correlation_id = int(correlation_id[1]) if correlation_id[0] == "int" else correlation_id[1]
        request._inputs = session.tensors_of(message["inputs"])
        request._requested_output_names = set(message["outputs"])
        request._model_name = session.name
        request._model_version = -1
        request._flags = message["flags"]
        request._timeout = message["timeout"]
        request._preferred_memory = None
        request._trace = InferenceTrace._of_request(message["request"])
        request._parameters = message["parameters"]
        request._release_flags = TRITONSERVER_REQUEST_RELEASE_ALL
        request._reply = Reply(session, message["request"], is_decoupled, request._requested_output_names)
        session.register(message["request"], request._reply)
        return request

    def inputs(self):
        return self._inputs

    def request_id(self):
        return self._request_id

    def correlation_id(self):
        return self._correlation_id

    def flags(self):
        return self._flags

    def set_flags(self, flags):
        self._flags = flags

    def timeout(self):
        """Microseconds; 0: none."""
        return self._timeout

    def parameters(self):
        """JSON."""
        return self._parameters

    def trace(self):
        return self._trace

    def preferred_memory(self):
        return self._preferred_memory

    def requested_output_names(self):
        return set(self._requested_output_names)

    def is_cancelled(self):
        return self._received_reply("is_cancelled").is_cancelled

    def set_release_flags(self, flags):
        if flags not in (TRITONSERVER_REQUEST_RELEASE_ALL, TRITONSERVER_REQUEST_RELEASE_RESCHEDULE):
            raise TritonModelException("Unsupported release flags %r: expected TRITONSERVER_REQUEST_RELEASE_ALL or TRITONSERVER_REQUEST_RELEASE_RESCHEDULE." % (flags,))
        self._release_flags = flags

    def get_response_sender(self):
        reply = self._received_reply("get_response_sender")
        reply.has_sender = True
        return InferenceResponseSender(reply)

    def exec(self, decoupled=False):
        """Runs the request and waits for the response, or with `decoupled` returns an iterator of responses."""
        session = self._inferring_session()
        message = self._described(session, decoupled)
        answers = session.call_for_answers(message)
        if decoupled:
            return ResponseIterator(session, answers, message["call"])
        return InferenceResponse._of_message(session, answers.get())

    def async_exec(self, decoupled=False):
        """As `exec`, for `await`: of a decoupled request once its first response is there."""
        session = self._inferring_session()
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        if decoupled:
            return self._async_iterator(session, loop, future)
        session.call_for_answers(
            self._described(session, decoupled),
            lambda answer: _call_in(loop, _resolve, future, InferenceResponse._of_message(session, answer)),
        )
        return future

    def _async_iterator(self, session, loop, future):
        import queue

        answers = queue.SimpleQueue()
        message = self._described(session, True)

        def take(answer):
            answers.put(answer)
            _call_in(loop, _resolve, future, None)

        session.call_for_answers(message, take)

        async def wait():
            await future
            return ResponseIterator(session, answers, message["call"])

        return asyncio.ensure_future(wait())

    def _received_reply(self, function):
        if self._reply is None:
            raise TritonModelException("%s is for requests that the model received, and this is one that it made itself." % function)
        return self._reply

    @staticmethod
    def _inferring_session():
        session = current()
        if not session.may_infer:
            raise TritonModelException("BLS is only supported during the 'execute' function.")
        return session

    def _described(self, session, is_decoupled):
        message = {
            "op": "infer",
            "model": self._model_name,
            "version": self._model_version,
            "id": self._request_id,
            "correlation": ["string", self._correlation_id] if isinstance(self._correlation_id, str) else ["int", str(self._correlation_id)],
            "flags": self._flags,
            "timeout": self._timeout,
            "outputs": list(self._requested_output_names),
            "parameters": parameters_for_server(self._parameters),
            "decoupled": bool(is_decoupled),
        }
        if self._trace._request is not None:
            message["trace"] = self._trace._request
        message["inputs"] = session.describe(self._inputs)
        return message


def _call_in(loop, function, *arguments):
    try:
        loop.call_soon_threadsafe(function, *arguments)
    except RuntimeError:
        # The loop is closed: nobody waits any more.
        pass


def _resolve(future, value):
    if not future.done():
        future.set_result(value)
