"""What an interpreter is, and what models would find in it, as JSON on standard output. Any Python from 2.7 on runs this: those that are too old are to be named."""

import json
import sys


def _version_of(package):
    """Version of an installed package, which is not imported; '' where it does not say, None where there is none."""
    import importlib.util

    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.loader is None:
        return None
    try:
        from importlib.metadata import version

        return version(package)
    except Exception:
        return ""


def _probe():
    found = {"version": "%d.%d.%d" % sys.version_info[:3], "prefix": sys.prefix, "executable": sys.executable, "numpy": None, "numpy_error": None, "torch": None, "torch_npu": None}
    if sys.version_info < (3, 8):
        return found
    try:
        import numpy

        found["numpy"] = numpy.__version__
    except Exception as error:
        found["numpy_error"] = str(error).strip().split("\n")[0] or type(error).__name__
    found["torch"] = _version_of("torch")
    found["torch_npu"] = _version_of("torch_npu")
    return found


if __name__ == "__main__":
    answer = json.dumps(_probe())
    sys.stdout.write("\n" + answer + "\n")
