"""Calls to the server that do not belong to a request."""

import enum
import sys

from .data_types import text_of
from .errors import TritonModelException
from .session import current


class LogLevel(enum.IntEnum):
    INFO = 0
    WARNING = 1
    ERROR = 2
    VERBOSE = 3


class Logger:
    """Lines in the server's log, with the file and line of the caller."""

    LogLevel = LogLevel
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
    message = text_of(message, "Logger takes the message")
    if not isinstance(level, LogLevel):
        raise TypeError("Logger takes the level as Logger.INFO, WARNING, ERROR or VERBOSE, not %r" % (level,))
    session = current(is_fork_welcome=True)
    if session.is_forked:
        # What a process prints is in the log, too.
        print(message, file=sys.stderr, flush=True)
        return
    frame = sys._getframe(2)
    session.send({"op": "log", "level": level.name, "message": message, "file": frame.f_code.co_filename, "line": frame.f_lineno})


def get_model_dir():
    """The directory of the model's version."""
    return current().version_directory


def load_model(model_name, config="", files=None):
    """Loads a model of the repository, or with other files: `files` has "file:<path>" and the bytes of each.

    Raises TritonModelException with the server's reason.
    """
    session = current()
    model_name = text_of(model_name, "load_model takes the model's name")
    config = text_of(config, "load_model takes the config")
    if files is not None and not isinstance(files, dict):
        raise TritonModelException("failed to load model '%s', files should be a dictionary of file paths and file contents" % model_name)
    for path, content in (files or {}).items():
        if not isinstance(path, (str, bytes)) or not isinstance(content, (bytes, bytearray, memoryview)):
            raise TritonModelException("failed to load model '%s', files should be a dictionary of file paths and file contents" % model_name)
    contents = [[text_of(path, "load_model takes paths")] + session.put(content) for path, content in (files or {}).items()]
    _ask("Failed to load model", {"op": "load", "model": model_name, "config": config, "files": contents})


def unload_model(model_name, unload_dependents=False):
    """Begins to unload a model. Raises TritonModelException with the server's reason."""
    _ask("Failed to unload model", {"op": "unload", "model": text_of(model_name, "unload_model takes the model's name"), "dependents": bool(unload_dependents)})


def is_model_ready(model_name, model_version=""):
    """Raises TritonModelException where the server does not know the model."""
    return _ask("Failed to check model readiness", {
        "op": "ready", "model": text_of(model_name, "is_model_ready takes the model's name"), "version": str(model_version) if isinstance(model_version, int) else text_of(model_version, "is_model_ready takes the version"),
    })


def _ask(what, message):
    session = current()
    try:
        return session.call(message)
    except TritonModelException as error:
        raise TritonModelException("%s: Failed to process the request for model '%s', message: %s" % (what, session.name, error)) from None
