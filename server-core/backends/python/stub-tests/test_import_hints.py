"""The next step that errors of imports tell: `python3 test_import_hints.py`, with the stub's folder in PYTHONPATH."""

import os
import sys
import tempfile
import unittest

from pb_stub.import_hints import hint_for

HEAD = "\nThe model runs with %s (Python %d.%d, numpy " % ((sys.executable,) + sys.version_info[:2])


def raised(function, *arguments):
    try:
        function(*arguments)
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def compiled(text):
    return raised(compile, text, "/m/1/model.py", "exec")


class Hints(unittest.TestCase):
    def hint(self, error, *parts):
        hint = hint_for(error)
        self.assertTrue(hint.startswith(HEAD), hint)
        for part in parts:
            self.assertIn(part, hint)

    def test_module_that_is_missing(self):
        pip = "%s -m pip install " % sys.executable
        choose = "or choose another interpreter with the parameter PYTHON_INTERPRETER of the model (or EXECUTION_ENV_PATH)."
        self.hint(raised(__import__, "no_such_module"), ", which cannot import 'no_such_module'. Install it there (%sno-such-module), %s" % (pip, choose))
        for module, package in (("cv2", "opencv-python-headless"), ("PIL.Image", "pillow"), ("sklearn.svm", "scikit-learn"), ("yaml", "pyyaml")):
            self.hint(ModuleNotFoundError("No module named '%s'" % module, name=module), pip + package + ")")
        self.hint(ModuleNotFoundError("No module named 'acl'", name="acl"), "It comes with CANN: start the server with --cann-set-env=auto")
        self.hint(raised(exec, "from json import no_such_name"), "'json' does not have what the model imports from it")

    def test_libraries_of_the_system(self):
        self.hint(ImportError("libGL.so.1: cannot open shared object file: No such file or directory"), "cannot load the library libGL.so.1", "apt-get install libgl1")
        self.hint(ImportError("libascendcl.so: cannot open shared object file: No such file or directory"), "it is CANN's: start the server with --cann-set-env=auto")
        self.hint(ImportError("/lib/libc.so.6: version `GLIBC_2.99' not found (required by /x/y.so)"), "/x/y.so was built for a newer system (it wants GLIBC_2.99)")

    def test_module_of_another_python(self):
        with tempfile.TemporaryDirectory() as directory:
            name = "extension_of_another.cpython-27m-x86_64-linux-gnu.so"
            open(os.path.join(directory, name), "w").close()
            sys.path.insert(0, directory)
            try:
                self.hint(raised(__import__, "extension_of_another"), "'extension_of_another' is there, but was built for another Python (%s)" % name)
            finally:
                sys.path.remove(directory)

    def test_numpy(self):
        for text in ("numpy.dtype size changed, may indicate binary incompatibility. Expected 96 from C header, got 88 from PyObject", "numpy.core.multiarray failed to import",
                     "A module that was compiled using NumPy 1.x cannot be run in\nNumPy 2.0.0"):
            for kind in (ValueError, ImportError):
                self.hint(kind(text), ": a module that the model imports was built for another numpy. %s -m pip install --upgrade --force-reinstall 'numpy<2'" % sys.executable)
        import numpy
        self.hint(raised(getattr, numpy, "no_such_name"), ": the model or a module that it imports was written for another numpy.", "-m pip install 'numpy<2')")

    def test_python_that_is_too_old(self):
        error = SyntaxError("invalid syntax", ("/m/1/model.py", 7, 1, "match value:\n"))
        if sys.version_info < (3, 10):
            self.hint(error, ": line 7 of /m/1/model.py is written for Python 3.10 or newer. Choose a newer interpreter")
        else:
            self.assertEqual(hint_for(error), "")
        if sys.version_info < (3, 12):
            self.hint(compiled("type Pair = tuple\n"), "is written for Python 3.12 or newer")
        self.hint(compiled("print 'x'\n"), ": the file is written for Python 2. Convert it (2to3)")

    def test_nothing_to_add(self):
        for error in (RuntimeError("no weights"), compiled("this is no python\n"), AttributeError("module '1.model' has no attribute 'TritonPythonModel'"), KeyError("x")):
            self.assertEqual(hint_for(error), "")


if __name__ == "__main__":
    unittest.main()
