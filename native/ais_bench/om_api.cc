#include "ais_bench/om_api.h"

#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "ascend/acl_error.h"
#include "ascend/om_model.h"
#include "tools/om_json.h"

using namespace npu_console;
using namespace npu_console::ascend;

struct npu_om_session {
  npu_om_session(const AclApi& api, int device, const char* path) : model(Device::Acquire(api, device), path, OmOptions{}), description(DescriptionJson(model.description()).Write()) {}

  OmModel model;
  std::string description;
  std::vector<OmOutput> outputs;
};

namespace {

thread_local std::string last_error;

/** No exception leaves this library: `failed` is returned instead. */
template <typename Result, typename Body>
Result Guarded(Result failed, Body body) {
  try {
    return body();
  } catch (const std::exception& error) {
    last_error = error.what();
  }
  return failed;
}

std::string Text(const char* text) { return text == nullptr ? "" : text; }

void CopyInputs(OmModel& model, const RunPlan& plan, const npu_om_tensor* inputs) {
  for (size_t index = 0; index < plan.inputs.size(); index++) {
    const size_t wanted = model.InputBytes(index, plan.inputs[index]);
    if (inputs[index].bytes != wanted) {
      const OmTensor& tensor = model.description().inputs[index];
      throw Error(ErrorKind::InvalidArgument, "input '" + tensor.name + "' has " + std::to_string(inputs[index].bytes) + " bytes, the model takes " + std::to_string(wanted) + " (" +
                                                  TritonTypeName(tensor.type) + " " + DimsText(plan.inputs[index]) + ")");
    }
    void* staged = model.Stage(index, wanted);
    if (wanted > 0) std::memcpy(staged, inputs[index].data, wanted);
  }
}

}  // namespace

const char* npu_om_error(void) { return last_error.c_str(); }

int32_t npu_om_device_count(const char* cann_directory) {
  return Guarded(-1, [&] { return Device::Count(AclApi::Load(Text(cann_directory))); });
}

npu_om_session* npu_om_open(const char* cann_directory, int32_t device, const char* path, const char* acl_config) {
  return Guarded<npu_om_session*>(nullptr, [&] {
    const AclApi& api = AclApi::Load(Text(cann_directory));
    if (!Text(acl_config).empty()) {
      const aclError code = api.aclInit(acl_config);
      if (code != ACL_ERROR_REPEAT_INITIALIZE) Check(api, code, "initialising AscendCL with " + Text(acl_config));
    }
    return std::make_unique<npu_om_session>(api, device, path).release();
  });
}

void npu_om_close(npu_om_session* session) { delete session; }

const char* npu_om_describe(npu_om_session* session) { return session->description.c_str(); }

int npu_om_run(npu_om_session* session, const npu_om_tensor* inputs, size_t count, double milliseconds[3]) {
  return Guarded(-1, [&] {
    OmModel& model = session->model;
    if (count != model.description().inputs.size()) {
      throw Error(ErrorKind::InvalidArgument, "the model has " + std::to_string(model.description().inputs.size()) + " inputs, " + std::to_string(count) + " were given");
    }
    std::vector<Dims> shapes;
    for (size_t index = 0; index < count; index++) shapes.emplace_back(inputs[index].dims, inputs[index].dims + inputs[index].rank);
    const RunPlan plan = model.Plan(shapes, Padding::None);
    session->outputs.clear();
    CopyInputs(model, plan, inputs);
    OmTimes times;
    session->outputs = model.Run(plan, &times);
    constexpr double NANOSECONDS = 1e6;
    milliseconds[0] = static_cast<double>(times.copy_in) / NANOSECONDS;
    milliseconds[1] = static_cast<double>(times.run) / NANOSECONDS;
    milliseconds[2] = static_cast<double>(times.copy_out) / NANOSECONDS;
    return 0;
  });
}

int npu_om_output(npu_om_session* session, size_t index, npu_om_tensor* output) {
  return Guarded(-1, [&] {
    if (index >= session->outputs.size()) throw Error(ErrorKind::InvalidArgument, "the last run has no output " + std::to_string(index));
    const OmOutput& result = session->outputs[index];
    *output = {result.data, result.bytes, result.dims.data(), result.dims.size()};
    return 0;
  });
}
