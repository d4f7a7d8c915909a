"""Answers: of this model to its requests, and of others to those that it makes."""

import json

from .errors import TritonError, TritonModelException
from .tensor import Tensor

TRITONSERVER_RESPONSE_COMPLETE_FINAL = 1


def check_parameters(parameters):
    """Returns the parameters as JSON. Raises TritonModelException where they have a type that Triton does not have."""
    if parameters is None:
        return "{}"
    if not isinstance(parameters, dict):
        raise TritonModelException("Expect dict, got %s" % type(parameters))
    for key, value in parameters.items():
        if not isinstance(key, str):
            raise TritonModelException("Expect parameters keys to have type str, found type %s" % type(key))
        if not isinstance(value, (bool, int, str)):
            raise TritonModelException("Expect parameters values to have type bool/int/str, found type %s" % type(value))
    return json.dumps(parameters)


def check_tensors(tensors, text):
    for tensor in tensors:
        if tensor is None:
            raise TritonModelException(text)
        if not isinstance(tensor, Tensor):
            raise TypeError("expected a Tensor, found %s" % type(tensor))
    return list(tensors)


class InferenceResponse:
    """Outputs, or an error, in which case the outputs do not count."""

    def __init__(self, output_tensors=(), error=None, parameters=None):
        self._outputs = check_tensors(output_tensors, "Output tensor for inference response should not be empty.")
        if error is not None and not isinstance(error, TritonError):
            raise TypeError("InferenceResponse takes the error as TritonError, not %s" % type(error))
        self._error = error
        self._parameters = check_parameters(parameters)

    @classmethod
    def _of_message(cls, session, message):
        response = cls.__new__(cls)
        error = message.get("failure")
        response._outputs = session.tensors_of(message.get("outputs", ()), is_released_by_us=True)
        response._error = None if error is None else TritonError(error[1], error[0])
        response._parameters = message.get("parameters", "{}")
        return response

    def _described(self, session, wanted=None):
        if self._error is not None:
            return {"failure": [self._error.code(), self._error.message()]}
        outputs = self._outputs if wanted is None else [tensor for tensor in self._outputs if tensor._name in wanted]
        described = {"outputs": session.describe(outputs)}
        if self._parameters != "{}":
            described["parameters"] = parameters_for_server(self._parameters)
        return described

    def output_tensors(self):
        return self._outputs

    def has_error(self):
        return self._error is not None

    def error(self):
        return self._error

    def parameters(self):
        """JSON."""
        return self._parameters


def parameters_for_server(parameters):
    """Each parameter with its kind and its value as text: JavaScript has no 64-bit integers in JSON."""
    described = []
    for key, value in json.loads(parameters).items():
        if isinstance(value, bool):
            described.append([key, "bool", "true" if value else "false"])
        elif isinstance(value, int):
            described.append([key, "int", str(value)])
        elif isinstance(value, float):
            described.append([key, "double", repr(value)])
        else:
            described.append([key, "string", value])
    return described


class Reply:
    """What the server is still told about a request. Shared by the request and its sender; when both are gone without a last answer, the server hears that."""

    __slots__ = ("session", "number", "is_decoupled", "wanted", "is_cancelled", "is_closed", "is_answered", "has_sender", "gate", "__weakref__")

    def __init__(self, session, number, is_decoupled, wanted):
        self.session = session
        self.number = number
        self.is_decoupled = is_decoupled
        self.wanted = wanted
        self.is_cancelled = False
        # No further answer is possible.
        self.is_closed = False
        # The one answer of a model that is not decoupled was given.
        self.is_answered = False
        self.has_sender = False
        # An event: shut while whoever takes the answers has enough to do. None: it never was.
        self.gate = None

    def __del__(self):
        if not self.is_closed and not (self.is_answered and not self.is_decoupled):
            self.session.leave({"op": "dropped", "request": self.number})


class InferenceResponseSender:
    """Answers one request, from any thread, also after `execute` is over."""

    def __init__(self, reply):
        self._reply = reply

    def send(self, response=None, flags=0):
        reply = self._reply
        if flags not in (0, TRITONSERVER_RESPONSE_COMPLETE_FINAL):
            raise TritonModelException("Unable to send response. Unsupported flag provided.")
        if reply.is_closed:
            raise TritonModelException("Unable to send response. Response sender has been closed.")
        if response is None and flags == 0:
            raise TritonModelException("Inference Response object must be provided when the response flags is set to zero.")
        if response is not None and not isinstance(response, InferenceResponse):
            raise TypeError("InferenceResponseSender.send takes an InferenceResponse, not %s" % type(response))
        if not reply.is_decoupled:
            if response is not None and reply.is_answered:
                raise TritonModelException("Unable to send response. Non-decoupled model cannot send more than one response.")
            if response is None and not reply.is_answered:
                raise TritonModelException("Unable to send response. Non-decoupled model cannot send complete final before sending a response.")
        gate = reply.gate
        if gate is not None:
            gate.wait()
        message = {"op": "send", "request": reply.number, "final": flags == TRITONSERVER_RESPONSE_COMPLETE_FINAL}
        if response is not None:
            message["response"] = response._described(reply.session, reply.wanted)
        reply.session.send(message)
        reply.is_answered = reply.is_answered or response is not None
        if flags == TRITONSERVER_RESPONSE_COMPLETE_FINAL:
            reply.is_closed = True

    def is_cancelled(self):
        return self._reply.is_cancelled


class ResponseIterator:
    """The responses of a decoupled model to a request of this one. The last one may have no outputs."""

    def __init__(self, session, answers, call):
        self._session = session
        self._answers = answers
        self._call = call
        self._received = []
        self._next = 0
        self._is_over = False

    def __iter__(self):
        # One that was gone through begins again; another goes on where it stands.
        if self._is_over and self._next == len(self._received):
            self._next = 0
        return self

    def __next__(self):
        if self._next == len(self._received):
            if self._is_over:
                raise StopIteration
            self._take(self._answers.get())
        response = self._received[self._next]
        self._next += 1
        return response

    def cancel(self):
        """The rest is not wanted any more. What was under way may still come, then an error CANCELLED."""
        if not self._is_over:
            self._session.send({"op": "cancel_infer", "cancelled": self._call})

    def _take(self, message):
        self._is_over = message["final"]
        self._received.append(InferenceResponse._of_message(self._session, message))
