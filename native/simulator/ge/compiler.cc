// The simulated libge_compiler.so: building an .om in the process, and what a compiled graph says about itself.
#include <cstring>
#include <fstream>
#include <mutex>

#include "ge/ge_graph_compile_summary.h"
#include "ge/ge_ir_build.h"
#include "ge/summary_builder.h"
#include "ge/translate.h"

namespace ge {

namespace {

std::mutex buildMutex;
bool isBuildInitialized = false;
/** Options of aclgrphBuildInitialize: they hold for every model that is built. */
std::map<AscendString, AscendString> &GlobalOptions() {
  static auto *options = new std::map<AscendString, AscendString>();
  return *options;
}

}  // namespace

graphStatus aclgrphBuildInitialize(std::map<AscendString, AscendString> &global_options) {
  const std::lock_guard lock(buildMutex);
  isBuildInitialized = true;
  GlobalOptions() = global_options;
  return GRAPH_SUCCESS;
}

void aclgrphBuildFinalize() {
  const std::lock_guard lock(buildMutex);
  isBuildInitialized = false;
  GlobalOptions().clear();
}

graphStatus aclgrphBuildModel(const Graph &graph, const std::map<AscendString, AscendString> &build_options, ModelBufferData &model) {
  std::map<AscendString, AscendString> options = build_options;
  {
    const std::lock_guard lock(buildMutex);
    if (!isBuildInitialized) return simulator::GeFail("aclgrphBuildInitialize has to be called first");
    options.insert(GlobalOptions().begin(), GlobalOptions().end());
  }
  if (!graph.IsValid()) return simulator::GeFail("the graph is empty: parse a model into it first");
  return simulator::GeBuildOm(GraphAccess::Source(graph), ToGeOptions(options), [&model](const void *data, size_t bytes) {
    model.data = std::shared_ptr<uint8_t>(new uint8_t[bytes], std::default_delete<uint8_t[]>());
    std::memcpy(model.data.get(), data, bytes);
    model.length = bytes;
  });
}

graphStatus aclgrphSaveModel(const char_t *output_file, const ModelBufferData &model) {
  if (output_file == nullptr || model.data == nullptr) return simulator::GeFail("aclgrphSaveModel got no file name or no model");
  std::ofstream file(std::string(output_file) + ".om", std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char *>(model.data.get()), static_cast<std::streamsize>(model.length));
  file.close();
  return file ? GRAPH_SUCCESS : simulator::GeFail("the .om file cannot be written");
}

class CompiledGraphSummary::SummaryData {
 public:
  simulator::GeSummary summary;
};

CompiledGraphSummary::~CompiledGraphSummary() = default;

CompiledGraphSummaryPtr CompiledGraphSummary::Builder::Build(const simulator::GeSummary &summary) {
  CompiledGraphSummaryPtr result(new CompiledGraphSummary());
  result->data_ = std::make_shared<SummaryData>();
  result->data_->summary = summary;
  return result;
}

bool CompiledGraphSummary::IsStatic() const { return data_->summary.isStatic; }

Status CompiledGraphSummary::GetConstMemorySize(size_t &size) const {
  size = data_->summary.constBytes;
  return SUCCESS;
}
Status CompiledGraphSummary::GetFeatureMemorySize(size_t &size) const {
  size = data_->summary.featureBytes;
  return SUCCESS;
}
Status CompiledGraphSummary::GetFixedFeatureMemorySize(size_t &size) const {
  size = 0;
  return SUCCESS;
}
Status CompiledGraphSummary::GetRefreshableFeatureMemorySize(size_t &size) const { return GetFeatureMemorySize(size); }
Status CompiledGraphSummary::GetFeatureMemoryBaseRefreshable(bool &v) const {
  v = true;
  return SUCCESS;
}
Status CompiledGraphSummary::GetStreamNum(size_t &num) const {
  num = 1;
  return SUCCESS;
}
Status CompiledGraphSummary::GetEventNum(size_t &num) const {
  num = 0;
  return SUCCESS;
}
Status CompiledGraphSummary::GetOutputShapes(std::vector<Shape> &shapes) const {
  shapes.clear();
  for (const auto &dims : data_->summary.outputShapes) shapes.emplace_back(dims);
  return SUCCESS;
}
Status CompiledGraphSummary::GetOutputDtypes(std::vector<DataType> &dtypes) const {
  dtypes.clear();
  for (const int32_t type : data_->summary.outputTypes) dtypes.push_back(static_cast<DataType>(type));
  return SUCCESS;
}

}  // namespace ge
