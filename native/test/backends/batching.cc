// Gathers the input X of all requests of a batch into one buffer of the memory manager, doubles every number in place, and scatters it into the output Y of
// each. Counts in metrics of its own.
#include <numeric>

#include "fixture.h"

using namespace fixture;

namespace {

struct Metrics {
  TRITONSERVER_MetricFamily *batches_family = nullptr, *last_family = nullptr, *sizes_family = nullptr;
  TRITONSERVER_Metric *batches = nullptr, *last = nullptr, *sizes = nullptr;
};

TRITONBACKEND_MemoryManager* MemoryOf(TRITONBACKEND_ModelInstance* instance) {
  TRITONBACKEND_Model* model = nullptr;
  Must(TRITONBACKEND_ModelInstanceModel(instance, &model));
  TRITONBACKEND_Backend* backend = nullptr;
  Must(TRITONBACKEND_ModelBackend(model, &backend));
  TRITONBACKEND_MemoryManager* memory = nullptr;
  Must(TRITONBACKEND_BackendMemoryManager(backend, &memory));
  return memory;
}

Metrics* MetricsOf(TRITONBACKEND_Model* model) {
  void* state = nullptr;
  Must(TRITONBACKEND_ModelState(model, &state));
  return static_cast<Metrics*>(state);
}

struct Piece {
  TRITONBACKEND_Request* request;
  TRITONBACKEND_Response* response;
  TRITONBACKEND_Input* input;
  std::vector<std::int64_t> shape;
  std::uint64_t byte_size;
  std::uint32_t buffers;
  TRITONSERVER_Error* error;
};

Piece Look(TRITONBACKEND_Request* request) {
  Piece piece{request, nullptr, nullptr, {}, 0, 0, nullptr};
  piece.error = EntryPoint([&] {
    Must(TRITONBACKEND_RequestInput(request, "X", &piece.input));
    const char* name = nullptr;
    TRITONSERVER_DataType datatype;
    const std::int64_t* shape = nullptr;
    std::uint32_t dims = 0;
    Must(TRITONBACKEND_InputPropertiesForHostPolicy(piece.input, "policy", &name, &datatype, &shape, &dims, &piece.byte_size, &piece.buffers));
    piece.shape.assign(shape, shape + dims);
    const std::int64_t elements = std::accumulate(shape, shape + dims, std::int64_t{1}, std::multiplies<>());
    if (static_cast<std::uint64_t>(elements) * TRITONSERVER_DataTypeByteSize(datatype) != piece.byte_size) throw std::runtime_error("X has another size than its shape");
  });
  if (piece.error != nullptr) piece.byte_size = 0;
  return piece;
}

void Gather(const Piece& piece, char* target) {
  for (std::uint32_t index = 0; index < piece.buffers; ++index) {
    const void* buffer = nullptr;
    std::uint64_t size = 0;
    TRITONSERVER_MemoryType memory_type = TRITONSERVER_MEMORY_CPU_PINNED;
    std::int64_t memory_type_id = 0;
    Must(TRITONBACKEND_InputBufferForHostPolicy(piece.input, "policy", index, &buffer, &size, &memory_type, &memory_type_id));
    const void* again = nullptr;
    TRITONSERVER_BufferAttributes* attributes = nullptr;
    Must(TRITONBACKEND_InputBufferAttributes(piece.input, index, &again, &attributes));
    void* handle = &target;
    Must(TRITONSERVER_BufferAttributesCudaIpcHandle(attributes, &handle));
    if (again != buffer || handle != nullptr) throw std::runtime_error("buffer and attributes differ");
    std::memcpy(target, buffer, size);
    target += size;
  }
}

void Scatter(const Piece& piece, const char* source) {
  std::size_t byte_size = piece.byte_size;
  TRITONSERVER_MemoryType memory_type = TRITONSERVER_MEMORY_GPU;
  std::int64_t memory_type_id = 0;
  Must(TRITONBACKEND_RequestOutputBufferProperties(piece.request, "Y", &byte_size, &memory_type, &memory_type_id));
  TRITONBACKEND_Output* output = nullptr;
  Must(TRITONBACKEND_ResponseOutput(piece.response, &output, "Y", TRITONSERVER_TYPE_INT32, piece.shape.data(), static_cast<std::uint32_t>(piece.shape.size())));
  void* target = nullptr;
  Must(TRITONBACKEND_OutputBuffer(output, &target, piece.byte_size, &memory_type, &memory_type_id));
  TRITONSERVER_BufferAttributes* attributes = nullptr;
  Must(TRITONBACKEND_OutputBufferAttributes(output, &attributes));
  if (piece.byte_size > 0) std::memcpy(target, source, piece.byte_size);
}

}  // namespace

extern "C" {

TRITONSERVER_Error* TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model* model) {
  return EntryPoint([&] {
    auto* const metrics = new Metrics;
    Must(TRITONBACKEND_ModelSetState(model, metrics));
    const char* name = nullptr;
    Must(TRITONBACKEND_ModelName(model, &name));
    TRITONSERVER_Parameter* label = TRITONSERVER_ParameterNew("model", TRITONSERVER_PARAMETER_STRING, name);
    const TRITONSERVER_Parameter* const labels[] = {label};
    auto** const label_list = const_cast<const TRITONSERVER_Parameter**>(labels);
    Must(TRITONSERVER_MetricFamilyNew(&metrics->batches_family, TRITONSERVER_METRIC_KIND_COUNTER, "batching_batches", "Batches run"));
    Must(TRITONSERVER_MetricNew(&metrics->batches, metrics->batches_family, label_list, 1));
    Must(TRITONSERVER_MetricFamilyNew(&metrics->last_family, TRITONSERVER_METRIC_KIND_GAUGE, "batching_last", "Requests of the last batch"));
    Must(TRITONSERVER_MetricNew(&metrics->last, metrics->last_family, label_list, 1));
    Must(TRITONSERVER_MetricFamilyNew(&metrics->sizes_family, TRITONSERVER_METRIC_KIND_HISTOGRAM, "batching_sizes", "Requests per batch"));
    TRITONSERVER_MetricKind kind;
    Must(TRITONSERVER_GetMetricFamilyKind(metrics->sizes_family, &kind));
    if (kind != TRITONSERVER_METRIC_KIND_HISTOGRAM) throw std::runtime_error("kind");
    TRITONSERVER_MetricArgs* args = nullptr;
    Must(TRITONSERVER_MetricArgsNew(&args));
    const double bounds[] = {1, 2, 4};
    Must(TRITONSERVER_MetricArgsSetHistogram(args, bounds, 3));
    Must(TRITONSERVER_MetricNewWithArgs(&metrics->sizes, metrics->sizes_family, label_list, 1, args));
    Must(TRITONSERVER_MetricArgsDelete(args));
    TRITONSERVER_ParameterDelete(label);
  });
}

TRITONSERVER_Error* TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model* model) {
  return EntryPoint([&] {
    Metrics* const metrics = MetricsOf(model);
    for (TRITONSERVER_Metric* metric : {metrics->batches, metrics->last, metrics->sizes}) Must(TRITONSERVER_MetricDelete(metric));
    for (TRITONSERVER_MetricFamily* family : {metrics->batches_family, metrics->last_family, metrics->sizes_family}) Must(TRITONSERVER_MetricFamilyDelete(family));
    delete metrics;
  });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request** requests, const std::uint32_t count) {
  return EntryPoint([&] {
    std::vector<Piece> pieces;
    std::uint64_t total = 0;
    for (std::uint32_t index = 0; index < count; ++index) {
      pieces.push_back(Look(requests[index]));
      total += pieces.back().byte_size;
    }
    TRITONBACKEND_MemoryManager* const memory = MemoryOf(instance);
    void* gathered = nullptr;
    Must(TRITONBACKEND_MemoryManagerAllocate(memory, &gathered, TRITONSERVER_MEMORY_CPU, 0, total));
    char* at = static_cast<char*>(gathered);
    for (const Piece& piece : pieces) {
      if (piece.error == nullptr) Gather(piece, at);
      at += piece.byte_size;
    }
    auto* const numbers = static_cast<std::int32_t*>(gathered);
    for (std::uint64_t index = 0; index < total / sizeof(std::int32_t); ++index) numbers[index] *= 2;

    at = static_cast<char*>(gathered);
    for (Piece& piece : pieces) {
      Must(TRITONBACKEND_ResponseNew(&piece.response, piece.request));
      if (piece.error == nullptr) piece.error = EntryPoint([&] { Scatter(piece, at); });
      at += piece.byte_size;
      if (piece.error != nullptr) {
        // Of a response that went wrong half way a fresh one is made.
        Must(TRITONBACKEND_ResponseDelete(piece.response));
        Must(TRITONBACKEND_ResponseNew(&piece.response, piece.request));
      }
      Must(TRITONBACKEND_ResponseSend(piece.response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, piece.error));
      TRITONSERVER_ErrorDelete(piece.error);
      Must(TRITONBACKEND_RequestRelease(piece.request, TRITONSERVER_REQUEST_RELEASE_ALL));
    }
    Must(TRITONBACKEND_MemoryManagerFree(memory, gathered, TRITONSERVER_MEMORY_CPU, 0));

    TRITONBACKEND_Model* model = nullptr;
    Must(TRITONBACKEND_ModelInstanceModel(instance, &model));
    Metrics* const metrics = MetricsOf(model);
    Must(TRITONSERVER_MetricIncrement(metrics->batches, 1));
    Must(TRITONSERVER_MetricSet(metrics->last, count));
    Must(TRITONSERVER_MetricObserve(metrics->sizes, count));
    double value = 0;
    Must(TRITONSERVER_MetricValue(metrics->last, &value));
    if (value != count) throw std::runtime_error("the gauge has another value than the one set");
  });
}

}  // extern "C"
