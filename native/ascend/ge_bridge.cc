// libnpu_ge_bridge.so. Compiled with the old string ABI against CANN's own headers where there are any, else against include/, so it uses only names that both
// have: AscendString overloads and classes that hide their inside. Not warning-free headers of CANN's are its system headers.
#include "ge_bridge.h"

#if _GLIBCXX_USE_CXX11_ABI != 0
#error "the bridge is compiled with -D_GLIBCXX_USE_CXX11_ABI=0, as CANN's libraries are"
#endif

#include <dlfcn.h>

#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ge/ge_api.h"
#include "ge/ge_graph_compile_summary.h"
#include "parser/onnx_parser.h"
#include "parser/tensorflow_parser.h"
#if __has_include("exe_graph/runtime/runtime_tensor.h")
#include "exe_graph/runtime/runtime_tensor.h"
#else
#include "exe_graph/runtime/tensor.h"
#endif

struct NpuGeSession {
  explicit NpuGeSession(const std::map<ge::AscendString, ge::AscendString>& options) : session(options) {}

  ge::Session session;
  std::mutex mutex;
  // Outputs that GE gave memory to, by graph: they must be gone before the graph is.
  std::map<std::uint32_t, std::vector<gert::Tensor>> outputs;
};

namespace {

using Options = std::map<ge::AscendString, ge::AscendString>;

// The two calls that came with CANN 8.0.RC3, by their C names, which older packages were given too, or else as members.
using LoadGraph = ge::Status (*)(ge::Session&, std::uint32_t, const Options&, void*);
using ExecuteGraph = ge::Status (*)(ge::Session&, std::uint32_t, void*, const std::vector<gert::Tensor>&, std::vector<gert::Tensor>&);
LoadGraph load_graph = nullptr;
ExecuteGraph execute_graph = nullptr;

thread_local std::string own_text;
thread_local std::string shown_text;

ge::Status FailHere(const char* text) {
  own_text = text;
  return ge::FAILED;
}

// Runs the body of a function of the bridge; what it throws becomes a failure with its text.
template <class Body>
std::uint32_t Guarded(Body body) {
  own_text.clear();
  try {
    return body();
  } catch (const std::exception& exception) {
    return FailHere(exception.what());
  } catch (...) {
    return FailHere("GE threw something that is no std::exception");
  }
}

Options ToMap(NpuGeOptions options) {
  Options map;
  for (std::size_t index = 0; index < options.count; ++index) map.emplace(options.items[index].key, options.items[index].value);
  return map;
}

std::uint32_t Initialize(NpuGeOptions options) {
  return Guarded([&] { return ge::GEInitialize(ToMap(options)); });
}

std::uint32_t Finalize() {
  return Guarded([] { return ge::GEFinalize(); });
}

const char* ErrorText() {
  if (!own_text.empty()) return own_text.c_str();
  try {
    const ge::AscendString text = ge::GEGetErrorMsgV2();
    shown_text = text.GetString() == nullptr ? "" : text.GetString();
  } catch (const std::exception& exception) {
    shown_text = exception.what();
  }
  return shown_text.c_str();
}

std::uint32_t SessionNew(NpuGeOptions options, NpuGeSession** session) {
  *session = nullptr;
  return Guarded([&] {
    auto made = std::make_unique<NpuGeSession>(ToMap(options));
    // A constructor cannot return: no number means that it failed.
    if (made->session.GetSessionId() == 0 && *ErrorText() != '\0') return static_cast<ge::Status>(ge::FAILED);
    *session = made.release();
    return static_cast<ge::Status>(ge::SUCCESS);
  });
}

void SessionDelete(NpuGeSession* session) {
  Guarded([&] {
    if (session != nullptr) session->outputs.clear();
    delete session;
    return static_cast<ge::Status>(ge::SUCCESS);
  });
}

std::uint32_t AddGraph(NpuGeSession* session, std::uint32_t id, NpuGeModelFormat format, const char* path, NpuGeOptions parser_options, NpuGeOptions options) {
  return Guarded([&]() -> ge::Status {
    static std::mutex one_parse;
    ge::Graph graph(("graph_" + std::to_string(id)).c_str());
    {
      const std::lock_guard lock(one_parse);
      const ge::graphStatus parsed = format == NPU_GE_ONNX ? ge::aclgrphParseONNX(path, ToMap(parser_options), graph)
                                                           : ge::aclgrphParseTensorFlow(path, ToMap(parser_options), graph);
      if (parsed != ge::GRAPH_SUCCESS) return parsed;
    }
    return session->session.AddGraph(id, graph, ToMap(options));
  });
}

std::uint32_t RemoveGraph(NpuGeSession* session, std::uint32_t id) {
  return Guarded([&] {
    {
      const std::lock_guard lock(session->mutex);
      session->outputs.erase(id);
    }
    return session->session.RemoveGraph(id);
  });
}

std::uint32_t CompileGraph(NpuGeSession* session, std::uint32_t id) {
  return Guarded([&] { return session->session.CompileGraph(id); });
}

// Numbers that a package does not know stay 0.
template <class Number, class Status, class Value>
void Ask(const ge::CompiledGraphSummary& summary, Status (ge::CompiledGraphSummary::*question)(Value&) const, Number& number) {
  Value value{};
  if ((summary.*question)(value) == ge::SUCCESS) number = value;
}

std::uint32_t Summarize(NpuGeSession* session, std::uint32_t id, NpuGeSummary* result) {
  *result = {};
  return Guarded([&]() -> ge::Status {
    const ge::CompiledGraphSummaryPtr summary = session->session.GetCompiledGraphSummary(id);
    if (summary == nullptr) return ge::FAILED;
    result->is_static = summary->IsStatic();
    Ask(*summary, &ge::CompiledGraphSummary::GetConstMemorySize, result->weight_bytes);
    Ask(*summary, &ge::CompiledGraphSummary::GetFeatureMemorySize, result->workspace_bytes);
    Ask(*summary, &ge::CompiledGraphSummary::GetStreamNum, result->stream_count);
    std::vector<ge::Shape> shapes;
    if (summary->GetOutputShapes(shapes) == ge::SUCCESS) result->output_count = static_cast<std::uint32_t>(shapes.size());
    return ge::SUCCESS;
  });
}

std::uint32_t DescribeOutput(NpuGeSession* session, std::uint32_t id, std::uint32_t index, NpuGeTensor* output) {
  *output = {};
  return Guarded([&]() -> ge::Status {
    const ge::CompiledGraphSummaryPtr summary = session->session.GetCompiledGraphSummary(id);
    std::vector<ge::Shape> shapes;
    std::vector<ge::DataType> types;
    if (summary == nullptr || summary->GetOutputShapes(shapes) != ge::SUCCESS || summary->GetOutputDtypes(types) != ge::SUCCESS) return ge::FAILED;
    if (index >= shapes.size() || index >= types.size()) return FailHere("the graph has no output of that number");
    if (shapes[index].GetDimNum() > NPU_GE_MAX_RANK) return FailHere("an output has more than 25 dimensions");
    output->type = static_cast<std::int32_t>(types[index]);
    output->rank = static_cast<std::uint32_t>(shapes[index].GetDimNum());
    for (std::uint32_t axis = 0; axis < output->rank; ++axis) output->dims[axis] = shapes[index].GetDim(axis);
    return ge::SUCCESS;
  });
}

std::uint32_t Load(NpuGeSession* session, std::uint32_t id, NpuGeOptions options, void* stream) {
  return Guarded([&] { return load_graph(session->session, id, ToMap(options), stream); });
}

gert::Tensor ToTensor(const NpuGeTensor& tensor) {
  gert::Shape shape;
  for (std::uint32_t axis = 0; axis < tensor.rank; ++axis) shape.AppendDim(tensor.dims[axis]);
  gert::Tensor result(gert::StorageShape(shape, shape), gert::StorageFormat(ge::FORMAT_ND, ge::FORMAT_ND, {}), gert::kOnDeviceHbm,
                      static_cast<ge::DataType>(tensor.type), tensor.data);
  result.SetSize(tensor.byte_size);
  return result;
}

ge::Status FromTensor(gert::Tensor& tensor, NpuGeTensor& result) {
  const gert::Shape& shape = tensor.GetStorageShape();
  if (shape.GetDimNum() > NPU_GE_MAX_RANK) return FailHere("an output has more than 25 dimensions");
  result.data = tensor.GetAddr();
  result.byte_size = tensor.GetSize();
  result.type = static_cast<std::int32_t>(tensor.GetDataType());
  result.rank = static_cast<std::uint32_t>(shape.GetDimNum());
  for (std::uint32_t axis = 0; axis < result.rank; ++axis) result.dims[axis] = shape.GetDim(axis);
  return ge::SUCCESS;
}

std::uint32_t Execute(NpuGeSession* session, std::uint32_t id, void* stream, const NpuGeTensor* inputs, std::size_t input_count, NpuGeTensor* outputs,
                      std::size_t* output_count, std::size_t output_room) {
  return Guarded([&]() -> ge::Status {
    std::vector<gert::Tensor> given;
    given.reserve(input_count);
    for (std::size_t index = 0; index < input_count; ++index) given.push_back(ToTensor(inputs[index]));
    std::vector<gert::Tensor> results;
    for (std::size_t index = 0; index < *output_count; ++index) results.push_back(ToTensor(outputs[index]));
    const bool is_ges = *output_count == 0;
    if (is_ges) {
      // Those of the graph's last run go first: GE gives the same memory again.
      const std::lock_guard lock(session->mutex);
      session->outputs.erase(id);
    }
    if (const ge::Status status = execute_graph(session->session, id, stream, given, results); status != ge::SUCCESS) return status;
    if (results.size() > (is_ges ? output_room : *output_count)) return FailHere("the graph has more outputs than the config");
    *output_count = results.size();
    for (std::size_t index = 0; index < results.size(); ++index) {
      if (const ge::Status status = FromTensor(results[index], outputs[index]); status != ge::SUCCESS) return status;
    }
    if (is_ges) {
      const std::lock_guard lock(session->mutex);
      session->outputs[id] = std::move(results);
    }
    return ge::SUCCESS;
  });
}

// A function of CANN's under the first of its names that is there.
void* Find(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* const symbol = dlsym(RTLD_DEFAULT, name); symbol != nullptr) return symbol;
  }
  return nullptr;
}

#ifdef NPU_GE_BRIDGE_CANN_HEADERS
constexpr const char* kHeaders = "CANN's headers";
#else
constexpr const char* kHeaders = "own declarations";
#endif

const NpuGeBridge kBridge = {NPU_GE_BRIDGE_VERSION, kHeaders,   Initialize,     Finalize, ErrorText, SessionNew, SessionDelete, AddGraph, RemoveGraph,
                             CompileGraph,          Summarize,  DescribeOutput, Load,     Execute};

}  // namespace

const NpuGeBridge* npu_ge_bridge(std::uint32_t version, const char** problem) {
  if (version != NPU_GE_BRIDGE_VERSION) {
    *problem = "libnpu_ge_bridge.so has another version than the backend: install both from one build";
    return nullptr;
  }
  // A member function is called like a function whose first argument is the object.
  load_graph = reinterpret_cast<LoadGraph>(
      Find({"GeSessionLoadGraph", "_ZNK2ge7Session9LoadGraphEjRKSt3mapINS_12AscendStringES2_St4lessIS2_ESaISt4pairIKS2_S2_EEEPv"}));
  execute_graph = reinterpret_cast<ExecuteGraph>(Find({"GeSessionExecuteGraphWithStreamAsync",
                                                       "_ZN2ge7Session27ExecuteGraphWithStreamAsyncEjPvRKSt6vectorIN4gert6TensorESaIS4_EERS6_"}));
  if (load_graph == nullptr || execute_graph == nullptr) {
    *problem = load_graph == nullptr ? "this CANN has no ge::Session::LoadGraph: CANN 8.0.RC3 or later is needed"
                                     : "this CANN has no ge::Session::ExecuteGraphWithStreamAsync: CANN 8.0.RC3 or later is needed";
    return nullptr;
  }
  return &kBridge;
}
