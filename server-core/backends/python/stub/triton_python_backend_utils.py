"""What Triton's Python backend gives a model.py, under the same names."""

from pb_stub.data_types import (
    TRITON_STRING_TO_NUMPY,
    deserialize_bytes_tensor,
    numpy_to_triton_type,
    serialize_byte_tensor,
    triton_string_to_numpy,
    triton_to_numpy_type,
)
from pb_stub.errors import TritonError, TritonModelException
from pb_stub.inference import (
    InferenceRequest,
    InferenceTrace,
    MemoryType,
    PreferredMemory,
    TRITONSERVER_MEMORY_CPU,
    TRITONSERVER_MEMORY_GPU,
    TRITONSERVER_REQUEST_FLAG_SEQUENCE_END,
    TRITONSERVER_REQUEST_FLAG_SEQUENCE_START,
    TRITONSERVER_REQUEST_RELEASE_ALL,
    TRITONSERVER_REQUEST_RELEASE_RESCHEDULE,
)
from pb_stub.metrics import Metric, MetricFamily, MetricKind
from pb_stub.model_config import (
    ModelConfig,
    get_input_config_by_name,
    get_output_config_by_name,
    using_decoupled_model_transaction_policy,
)
from pb_stub.response import InferenceResponse, InferenceResponseSender, ResponseIterator, TRITONSERVER_RESPONSE_COMPLETE_FINAL
from pb_stub.services import Logger, LogLevel, get_model_dir, is_model_ready, load_model, unload_model
from pb_stub.tensor import Tensor, get_input_tensor_by_name, get_output_tensor_by_name

__all__ = [name for name in dir() if not name.startswith("_")]
