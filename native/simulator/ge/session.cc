// The simulated libge_runner.so: translates sessions and tensors for the engine.
#include "ge/ge_api.h"

#include "ge/summary_builder.h"
#include "ge/translate.h"

using simulator::GeTensor;

namespace ge {

namespace {

GeTensor FromGert(const gert::Tensor &tensor) {
  GeTensor result;
  result.data = const_cast<void *>(tensor.GetAddr());
  result.bytes = tensor.GetSize();
  result.type = tensor.GetDataType();
  result.isOnDevice = tensor.GetPlacement() == gert::kOnDeviceHbm || tensor.GetPlacement() == gert::kOnDeviceP2p;
  const gert::Shape &shape = tensor.GetStorageShape();
  for (size_t index = 0; index < shape.GetDimNum(); index++) result.dims.push_back(shape.GetDim(index));
  return result;
}

std::vector<GeTensor> FromGert(const std::vector<gert::Tensor> &tensors) {
  std::vector<GeTensor> result;
  for (const gert::Tensor &tensor : tensors) result.push_back(FromGert(tensor));
  return result;
}

/** Writes shapes, and addresses that GE chose, back into the caller's tensors. */
void ToGert(const std::vector<GeTensor> &results, bool isOurs, std::vector<gert::Tensor> &tensors) {
  for (size_t index = 0; index < results.size(); index++) {
    const GeTensor &result = results[index];
    gert::Shape shape;
    for (const int64_t dim : result.dims) shape.AppendDim(dim);
    if (isOurs) {
      tensors.emplace_back(gert::StorageShape(shape, shape), gert::StorageFormat(FORMAT_ND, FORMAT_ND, {}), gert::kOnDeviceHbm,
                           static_cast<DataType>(result.type), result.data);
    } else {
      tensors[index].MutableStorageShape() = shape;
      tensors[index].MutableOriginShape() = shape;
      tensors[index].SetDataType(static_cast<DataType>(result.type));
    }
  }
}

GeTensor FromTensor(const Tensor &tensor) {
  GeTensor result;
  result.data = const_cast<uint8_t *>(tensor.GetData());
  result.bytes = tensor.GetSize();
  const TensorDesc desc = tensor.GetTensorDesc();
  result.type = desc.GetDataType();
  result.isOnDevice = desc.GetPlacement() == kPlacementDevice;
  result.dims = desc.GetShape().GetDims();
  return result;
}

std::vector<GeTensor> FromTensors(const std::vector<Tensor> &tensors) {
  std::vector<GeTensor> result;
  for (const Tensor &tensor : tensors) result.push_back(FromTensor(tensor));
  return result;
}

TensorDesc DescOf(const GeTensor &tensor) { return TensorDesc(Shape(tensor.dims), FORMAT_ND, static_cast<DataType>(tensor.type)); }

std::vector<Tensor> CopyTensors(const std::vector<GeTensor> &results) {
  std::vector<Tensor> tensors;
  for (const GeTensor &result : results) tensors.emplace_back(DescOf(result), static_cast<const uint8_t *>(result.data), result.bytes);
  return tensors;
}

}  // namespace

Status GEInitialize(const std::map<AscendString, AscendString> &options) { return simulator::GeInitialize(ToGeOptions(options)); }
Status GEFinalize() { return simulator::GeFinalize(); }
AscendString GEGetErrorMsgV2() { return AscendString(simulator::GeErrorText()); }
AscendString GEGetWarningMsgV2() { return AscendString(""); }

Session::Session(const std::map<AscendString, AscendString> &options) : sessionId_(simulator::GeCreateSession(ToGeOptions(options))) {}
Session::~Session() { simulator::GeDestroySession(sessionId_); }
uint64_t Session::GetSessionId() const { return sessionId_; }

Status Session::AddGraph(uint32_t graph_id, const Graph &graph) { return AddGraph(graph_id, graph, {}); }

Status Session::AddGraph(uint32_t graph_id, const Graph &graph, const std::map<AscendString, AscendString> &options) {
  return simulator::GeAddGraph(sessionId_, graph_id, GraphAccess::Source(graph), ToGeOptions(options));
}

Status Session::AddGraphWithCopy(uint32_t graph_id, const Graph &graph, const std::map<AscendString, AscendString> &options) {
  return AddGraph(graph_id, graph, options);
}

Status Session::RemoveGraph(uint32_t graph_id) { return simulator::GeRemoveGraph(sessionId_, graph_id); }
Status Session::CompileGraph(uint32_t graph_id) { return simulator::GeCompileGraph(sessionId_, graph_id); }
Status Session::BuildGraph(uint32_t graph_id, const std::vector<Tensor> &) { return simulator::GeBuildGraph(sessionId_, graph_id); }

CompiledGraphSummaryPtr Session::GetCompiledGraphSummary(uint32_t graph_id) {
  simulator::GeSummary summary;
  return simulator::GeSummarize(sessionId_, graph_id, summary) ? CompiledGraphSummary::Builder::Build(summary) : nullptr;
}

Status Session::LoadGraph(const uint32_t graph_id, const std::map<AscendString, AscendString> &options, void *stream) const {
  return simulator::GeLoadGraph(sessionId_, graph_id, ToGeOptions(options), stream);
}

Status Session::ExecuteGraphWithStreamAsync(uint32_t graph_id, void *stream, const std::vector<gert::Tensor> &inputs, std::vector<gert::Tensor> &outputs) {
  const bool isOurs = outputs.empty();
  std::vector<GeTensor> results = FromGert(outputs);
  const Status status = simulator::GeExecute(sessionId_, graph_id, stream, FromGert(inputs), results);
  if (status == SUCCESS) ToGert(results, isOurs, outputs);
  return status;
}

Status Session::RunGraphWithStreamAsync(uint32_t graph_id, void *stream, const std::vector<Tensor> &inputs, std::vector<Tensor> &outputs) {
  const std::vector<GeTensor> given = FromTensors(inputs);
  std::vector<GeTensor> results = FromTensors(outputs);
  for (const std::vector<GeTensor> *side : {&given, static_cast<const std::vector<GeTensor> *>(&results)}) {
    for (const GeTensor &tensor : *side) {
      if (reinterpret_cast<uintptr_t>(tensor.data) % 32 != 0) return simulator::GeFail("RunGraphWithStreamAsync takes addresses that are multiples of 32");
    }
  }
  const bool isOurs = outputs.empty();
  const Status status = simulator::GeRunWithStream(sessionId_, graph_id, stream, given, results);
  if (status != SUCCESS) return status;
  for (size_t index = 0; index < results.size(); index++) {
    TensorDesc desc = DescOf(results[index]);
    desc.SetPlacement(kPlacementDevice);
    if (isOurs) {
      outputs.emplace_back(desc);
      outputs.back().SetData(static_cast<uint8_t *>(results[index].data), results[index].bytes, [](uint8_t *) {});
    } else {
      outputs[index].SetTensorDesc(desc);
    }
  }
  return SUCCESS;
}

Status Session::RunGraph(uint32_t graph_id, const std::vector<Tensor> &inputs, std::vector<Tensor> &outputs) {
  return simulator::GeRun(sessionId_, graph_id, FromTensors(inputs), [&outputs](uint32_t status, std::vector<GeTensor> &results) {
    if (status == SUCCESS) outputs = CopyTensors(results);
  });
}

Status Session::RunGraphAsync(uint32_t graph_id, const std::vector<Tensor> &inputs, RunAsyncCallback callback) {
  if (!callback) return simulator::GeFail("RunGraphAsync needs a callback");
  return simulator::GeRunAsync(sessionId_, graph_id, FromTensors(inputs), [callback](uint32_t status, std::vector<GeTensor> &results) {
    std::vector<Tensor> outputs = CopyTensors(results);
    callback(status, outputs);
  });
}

}  // namespace ge

ge::Status GeSessionLoadGraph(ge::Session &session, uint32_t graph_id, const std::map<ge::AscendString, ge::AscendString> &options, void *stream) {
  return session.LoadGraph(graph_id, options, stream);
}

ge::Status GeSessionExecuteGraphWithStreamAsync(ge::Session &session, uint32_t graph_id, void *stream, const std::vector<gert::Tensor> &inputs,
                                                std::vector<gert::Tensor> &outputs) {
  return session.ExecuteGraphWithStreamAsync(graph_id, stream, inputs, outputs);
}
