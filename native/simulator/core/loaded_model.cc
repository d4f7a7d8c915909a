#include "core/loaded_model.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "acl/acl_mdl.h"
#include "core/shared_state.h"

namespace simulator {

std::shared_ptr<LoadedModel> LoadedModel::Load(std::shared_ptr<const CompiledModel> model, Device &device, bool takesWork, bool takesWeights,
                                               TaskResult &problem) {
  if (model->soc != device.profile.soc) {
    problem = {ACL_ERROR_GE_LOAD_MODEL, "the model was compiled for " + model->soc + ", this is " + device.profile.soc + ": convert it again with atc"};
    return nullptr;
  }
  std::shared_ptr<LoadedModel> loaded(new LoadedModel(std::move(model), device));
  Runtime &runtime = Runtime::Instance();
  problem = runtime.FaultOfCall(device, FaultPoint::Load);
  if (problem.code != ACL_SUCCESS) return nullptr;
  if (takesWork) loaded->work_ = runtime.AllocateOn(device, loaded->model_->WorkBytes());
  if (takesWeights) loaded->weights_ = runtime.AllocateOn(device, std::max<uint64_t>(1, loaded->model_->WeightBytes()));
  if ((takesWork && loaded->work_ == nullptr) || (takesWeights && loaded->weights_ == nullptr)) {
    problem = {ACL_ERROR_GE_MEMORY_ALLOCATION, "the model does not fit into the memory of device " + std::to_string(device.id)};
    return nullptr;
  }
  std::string error;
  loaded->session_ = OnnxSession::Create(loaded->model_->onnx.data(), loaded->model_->onnx.size(), error);
  if (loaded->session_ == nullptr) {
    problem = {ACL_ERROR_GE_LOAD_MODEL, error};
    return nullptr;
  }
  return loaded;
}

LoadedModel::~LoadedModel() {
  // After a reset of the device they are gone already.
  if (!IsUsable()) return;
  if (work_ != nullptr) Runtime::Instance().Free(work_);
  if (weights_ != nullptr) Runtime::Instance().Free(weights_);
}

TaskResult LoadedModel::Run(const std::vector<TensorView> &inputs, CoreShare cores, Stream *stream,
                            const std::function<bool(size_t index, const TensorView &output, std::string &error)> &take) const {
  const int cube = model_->IsDynamic() ? cores.cube : model_->cubeCores;
  const int vector = model_->IsDynamic() ? cores.vector : model_->vectorCores;
  TaskResult result = Runtime::Instance().TaskFault(device_, stream, FaultPoint::Run);
  if (result.code != ACL_SUCCESS) return result;
  device_.cores.Take(cube);
  const uint64_t start = NowNanoseconds();
  std::string error;
  double bytes = static_cast<double>(model_->WeightBytes());
  std::vector<std::vector<int64_t>> shapes;
  for (const TensorView &input : inputs) {
    shapes.push_back(input.dims);
    bytes += static_cast<double>(input.bytes);
  }
  const bool ran = session_->Run(inputs, take, error);
  const Profile &profile = device_.profile;
  const double wanted = RunMicroseconds(*model_, profile, shapes, cube) * 1e3 * Settings::Instance().timeScale();
  const double used = static_cast<double>(NowNanoseconds() - start);
  if (used < wanted) std::this_thread::sleep_for(std::chrono::nanoseconds(static_cast<int64_t>(wanted - used)));
  const double seconds = static_cast<double>(NowNanoseconds() - start) / 1e9;
  const double cubeShare = static_cast<double>(cube) / std::max(1, profile.cubeCores);
  const double vectorShare = profile.vectorCores == 0 ? 0 : 0.6 * vector / profile.vectorCores;
  SharedState::Instance().RecordRun(device_.logicId, seconds, cubeShare, vectorShare, bytes);
  device_.cores.Give(cube);
  if (!ran) return {ACL_ERROR_RT_MODEL_EXECUTE, "the run of model '" + model_->name + "' failed: " + error};
  return {};
}

}  // namespace simulator
