"""The model's own code: finding it, and saying what went wrong in it."""

import importlib
import os
import sys

_OWN_DIRECTORY = os.path.dirname(os.path.abspath(__file__))
_STUB = os.path.join(os.path.dirname(_OWN_DIRECTORY), "triton_python_backend_stub.py")


def import_model(code_directory, filename, backend_directory):
    """The class TritonPythonModel of a model. As in Triton the directory that it lies in (the version's, or a backend's) is its package."""
    # At the end, as Triton has them: a model's own 'queue.py' must not take the place of the standard library's.
    for directory in (code_directory, os.path.dirname(code_directory), backend_directory):
        if directory not in sys.path:
            sys.path.append(directory)
    package = os.path.basename(code_directory)
    stem = os.path.splitext(filename)[0]
    module = importlib.import_module("%s.%s" % (package, stem))
    try:
        return module.TritonPythonModel
    except AttributeError:
        raise AttributeError("module '%s.%s' has no attribute 'TritonPythonModel'" % (package, stem)) from None


def describe_exception(error):
    """An exception as Triton's clients read it: class and text, then where, innermost first. Only frames of the model and what it calls."""
    text = "%s: %s" % (type(error).__name__, error)
    places = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if not _is_ours(code.co_filename):
            places.append("  %s(%d): %s\n" % (code.co_filename, trace.tb_lineno, code.co_name))
        trace = trace.tb_next
    if not places:
        return text
    return "%s\n\nAt:\n%s" % (text, "".join(reversed(places)))


def _is_ours(filename):
    return filename.startswith("<frozen importlib") or filename == importlib.__file__ or filename == _STUB or os.path.dirname(os.path.abspath(filename)) == _OWN_DIRECTORY
