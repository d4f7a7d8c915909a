"""The name under which some models import the same things: in Triton a compiled module."""

from triton_python_backend_utils import *  # noqa: F401,F403
