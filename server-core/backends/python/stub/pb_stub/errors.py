from .data_types import text_of


class TritonModelException(Exception):
    """What the functions of `triton_python_backend_utils` raise."""


class TritonError:
    """Why a request has no outputs: a message and one of the server's error codes."""

    UNKNOWN = 0
    INTERNAL = 1
    NOT_FOUND = 2
    INVALID_ARG = 3
    UNAVAILABLE = 4
    UNSUPPORTED = 5
    ALREADY_EXISTS = 6
    CANCELLED = 7

    def __init__(self, message, code=INTERNAL):
        self._message = text_of(message, "TritonError takes the message")
        self._code = int(code)

    def code(self):
        return self._code

    def message(self):
        return self._message

    def __str__(self):
        return self._message
