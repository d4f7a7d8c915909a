"""Calls to the server that do not belong to a request."""

import enum
import sys

from .errors import TritonModelException
from .session import current


class LogLevel(enum.IntEnum):
    INFO = 0
    WARNING = 1
    ERROR = 2
    VERBOSE = 3


class Logger:
    """Lines in the server's log, with the file and line of the caller."""

    INFO = LogLevel.INFO
    WARNING = LogLevel.WARNING
    ERROR = LogLevel.ERROR
    VERBOSE = LogLevel.VERBOSE

    @staticmethod
    def log(message, level=LogLevel.INFO):
        _log(message, level)

    @staticmethod
    def log_info(message):
        _log(message, LogLevel.INFO)

    @staticmethod
    def log_warn(message):
        _log(message, LogLevel.WARNING)

    @staticmethod
    def log_error(message):
        _log(message, LogLevel.ERROR)

    @staticmethod
    def log_verbose(message):
        _log(message, LogLevel.VERBOSE)


def _log(message, level):
    if not isinstance(message, str):
        raise TypeError("Logger takes the message as str, not %s" % type(message))
    frame = sys._getframe(2)
    current().send({"op": "log", "level": LogLevel(level).name, "message": message, "file": frame.f_code.co_filename, "line": frame.f_lineno})


def get_model_dir():
    """The directory of the model's version."""
    return current().version_directory


def load_model(model_name, config="", files=None):
    """Loads a model of the repository, or with other files: `files` has "file:<path>" and the bytes of each.

    Raises TritonModelException with the server's reason.
    """
    session = current()
    if files is not None and not isinstance(files, dict):
        raise TritonModelException("failed to load model '%s', files should be a dictionary of file paths and file contents" % model_name)
    for path, content in (files or {}).items():
        if not isinstance(path, str) or not isinstance(content, (bytes, bytearray, memoryview)):
            raise TritonModelException("failed to load model '%s', files should be a dictionary of file paths and file contents" % model_name)
    contents = [[path] + session.put(content) for path, content in (files or {}).items()]
    _ask("Failed to load model", {"op": "load", "model": model_name, "config": config, "files": contents})


def unload_model(model_name, unload_dependents=False):
    """Begins to unload a model. Raises TritonModelException with the server's reason."""
    _ask("Failed to unload model", {"op": "unload", "model": model_name, "dependents": bool(unload_dependents)})


def is_model_ready(model_name, model_version=""):
    """Raises TritonModelException where the server does not know the model."""
    return _ask("Failed to check model readiness", {"op": "ready", "model": model_name, "version": str(model_version)})


def _ask(what, message):
    session = current()
    try:
        return session.call(message)
    except TritonModelException as error:
        raise TritonModelException("%s: Failed to process the request for model '%s', message: %s" % (what, session.name, error)) from None
