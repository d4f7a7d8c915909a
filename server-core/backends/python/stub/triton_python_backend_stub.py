"""The process of one Python model instance: `python3 triton_python_backend_stub.py`, started by the server with its descriptors 3 and 6 (sockets), 4 and 5 (memory).

What it is to do comes over the socket. Modules of the model and of this folder are found through `sys.path`, whose first entry is this folder.
"""

import sys


def _require_python():
    """Ends the process with a sentence where the interpreter cannot run models."""
    what = None
    if sys.version_info < (3, 8):
        what = "Python 3.8 or newer is needed, and %s is %d.%d. Choose" % (sys.executable, sys.version_info[0], sys.version_info[1])
    else:
        try:
            import numpy  # noqa: F401
        except ImportError as error:
            what = "%s (Python %d.%d) cannot import numpy: %s. Install it for that interpreter (%s -m pip install numpy; Debian's own: apt-get install python3-numpy), or choose" % (
                sys.executable, sys.version_info[0], sys.version_info[1], error, sys.executable)
    if what is not None:
        sys.exit(what + " another interpreter with the parameter PYTHON_INTERPRETER of the model or --backend-config=python,interpreter=PATH.")


if __name__ == "__main__":
    _require_python()
    from pb_stub.runner import main

    sys.exit(main())
