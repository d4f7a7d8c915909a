"""What to do about a model that its interpreter cannot run: which module, Python or numpy is the wrong one, and the next step."""

import importlib.machinery
import os
import re
import sys

import numpy

# Packages whose names differ from those of their modules.
_PACKAGES = {
    "PIL": "pillow", "cv2": "opencv-python-headless", "sklearn": "scikit-learn", "skimage": "scikit-image", "yaml": "pyyaml", "google.protobuf": "protobuf", "attr": "attrs", "bs4": "beautifulsoup4",
    "dateutil": "python-dateutil", "fitz": "pymupdf", "OpenSSL": "pyopenssl", "soundfile": "soundfile", "torch_npu": "torch_npu", "tritonclient": "tritonclient[all]", "serial": "pyserial",
}
# Modules that come with an installation of CANN, through PYTHONPATH.
_CANN = {"acl", "te", "tbe", "hccl", "auto_tune", "op_gen", "asc_op_compile_base", "amct_onnx", "amct_pytorch", "mindx", "mx_driving"}
_CHOOSE = "or choose another interpreter with the parameter PYTHON_INTERPRETER of the model (or EXECUTION_ENV_PATH)"
_NUMPY_BINARY = re.compile(r"compiled using NumPy 1|numpy\.dtype size changed|numpy\.core\.multiarray failed to import|_ARRAY_API not found|module compiled against API version")
_NUMPY_NAME = re.compile(r"module 'numpy(?:\.core|\.lib|\.random)?' has no attribute '(\w+)'|cannot import name '(\w+)' from 'numpy[\w.]*'|No module named 'numpy\.|`np\.(\w+)` was removed")
_LIBRARY = re.compile(r"(\S+\.so[.\d]*): cannot open shared object file")
_SYMBOL_VERSION = re.compile(r"version [`'](\S+?)' not found \(required by (.+?)\)")


def hint_for(error):
    """A paragraph for the end of an error's text; '' where there is nothing to add."""
    what = _what_is_wrong(error)
    return "" if what is None else "\nThe model runs with %s (Python %d.%d, numpy %s)%s" % ((sys.executable,) + sys.version_info[:2] + (numpy.__version__, what))


def _what_is_wrong(error):
    """How the sentence above goes on, with the next step."""
    text = str(error)
    if _NUMPY_BINARY.search(text):
        return ": a module that the model imports was built for another numpy. %s, or a newer build of that module, %s." % (_pip("install --upgrade --force-reinstall 'numpy<2'"), _CHOOSE)
    name = _NUMPY_NAME.search(text)
    if name is not None and not isinstance(error, SyntaxError):
        return ": the model or a module that it imports was written for another numpy. Change the code, or install the one that it was written for (%s), %s." % (_pip("install 'numpy<2'"), _CHOOSE)
    if isinstance(error, SyntaxError):
        return _syntax(error)
    if not isinstance(error, ImportError):
        return None
    library = _LIBRARY.search(text)
    if library is not None:
        return ", which cannot load the library %s. Install the package of the system that has it%s, %s." % (library.group(1), _library_package(library.group(1)), _CHOOSE)
    symbol = _SYMBOL_VERSION.search(text)
    if symbol is not None:
        return ": %s was built for a newer system (it wants %s). Install a build for this system, %s." % (symbol.group(2), symbol.group(1), _CHOOSE)
    if error.name is None:
        return None
    other = _built_for_other(error)
    if other is not None:
        return ": '%s' is there, but was built for another Python (%s). %s, %s." % (error.name, other, _pip("install --force-reinstall " + _package(error.name)), _CHOOSE)
    if not isinstance(error, ModuleNotFoundError):
        return ", where '%s' does not have what the model imports from it. Install the release of the module that the model was written for, %s." % (error.name, _CHOOSE)
    if error.name.partition(".")[0] in _CANN:
        return ", which cannot import '%s'. It comes with CANN: start the server with --cann-set-env=auto (or in a shell that has sourced set_env.sh), %s." % (error.name, _CHOOSE)
    return ", which cannot import '%s'. Install it there (%s), %s." % (error.name, _pip("install " + _package(error.name)), _CHOOSE)


def _syntax(error):
    """A file that this Python cannot read may be written for a newer one: those that are known to be are named."""
    line = (error.text or "").strip()
    newer = None
    if re.match(r"(match|case)\b.*:\s*(#.*)?$", line):
        newer = (3, 10)
    elif line.startswith("except*"):
        newer = (3, 11)
    elif re.match(r"type \w+.*=", line) or re.match(r"(def|class) \w+\[", line):
        newer = (3, 12)
    elif "f-string" in str(error) and sys.version_info < (3, 12):
        newer = (3, 12)
    elif line.startswith("with (") and sys.version_info < (3, 9):
        newer = (3, 9)
    if newer is None or sys.version_info >= newer:
        if re.match(r"(print|exec) ", line):
            return ": the file is written for Python 2. Convert it (2to3), %s." % _CHOOSE
        return None
    return ": line %s of %s is written for Python %d.%d or newer. Choose a newer interpreter with the parameter PYTHON_INTERPRETER of the model (or EXECUTION_ENV_PATH)." % ((error.lineno, error.filename) + newer)


def _built_for_other(error):
    """The tag of an extension module of that name which this interpreter does not load; None where there is none."""
    stem = error.name.rpartition(".")[2]
    suffixes = importlib.machinery.EXTENSION_SUFFIXES
    for directory in _directories_of(error):
        try:
            names = os.listdir(directory)
        except OSError:
            continue
        for name in names:
            if name.startswith(stem + ".") and name.endswith((".so", ".pyd")) and not any(name == stem + suffix for suffix in suffixes):
                return name
    return None


def _directories_of(error):
    """Where a module would lie: in its package, else in the path."""
    package = sys.modules.get(error.name.rpartition(".")[0])
    if package is None and "." in error.name:
        return []
    return list(getattr(package, "__path__", [])) if package is not None else [entry for entry in sys.path if entry]


def _package(module):
    return _PACKAGES.get(module) or _PACKAGES.get(module.partition(".")[0]) or module.partition(".")[0].replace("_", "-")


def _library_package(library):
    packages = {"libGL.so": "libgl1", "libgthread-2.0.so": "libglib2.0-0", "libglib-2.0.so": "libglib2.0-0", "libgomp.so": "libgomp1", "libsndfile.so": "libsndfile1", "libSM.so": "libsm6", "libXext.so": "libxext6"}
    for start, package in packages.items():
        if library.startswith(start):
            return " (Debian: apt-get install %s)" % package
    if library.startswith(("libascendcl", "libhccl", "libge_", "libc_sec")):
        return " (it is CANN's: start the server with --cann-set-env=auto)"
    return ""


def _pip(arguments):
    return "%s -m pip %s" % (sys.executable, arguments)
