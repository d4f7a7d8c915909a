#include "ascend/om_model.h"

#include <algorithm>

#include "ascend/acl_error.h"
#include "ascend/supervised.h"

namespace npu_console::ascend {

namespace {

using Clock = std::chrono::steady_clock;

uint64_t Since(Clock::time_point start) { return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count()); }

/** RunSupervised, which also notes that the card is at fault. Zero: no limit. */
void WithLimit(Device& device, const std::string& action, std::chrono::milliseconds limit, std::function<void()> body) {
  if (limit.count() <= 0) return body();
  try {
    RunSupervised(action, limit, std::move(body));
  } catch (const Error& error) {
    if (error.scope() == FaultScope::Device) device.ReportFault(error.what());
    throw;
  }
}

/** Says what the codes of a broken or foreign file may mean here. */
[[noreturn]] void RethrowLoad(const Error& error, const std::string& path, const AclApi& api) {
  switch (error.code()) {
    case ACL_ERROR_DESERIALIZE_MODEL: case ACL_ERROR_PARSE_MODEL: case ACL_ERROR_READ_MODEL_FAILURE: case ACL_ERROR_GE_LOAD_MODEL: break;
    default: throw error;
  }
  std::string chips;
  for (const std::string& chip : ReadOmFile(path).chips) chips += (chips.empty() ? "" : ", ") + chip;
  throw Error(error.kind(), std::string(error.what()) + " (The file was made for " + (chips.empty() ? "a chip it does not name" : chips) + ", the card is " + SocName(api) +
                                ", CANN is " + api.Version() + ": a file of a newer CANN does not load into an older one.)",
              error.code(), error.scope());
}

}  // namespace

/** The model on the card; unloaded by the last who holds it, in the context it was loaded in. */
struct OmModel::Loaded {
  Loaded(std::shared_ptr<Device> of, const std::string& path) : device(std::move(of)) {
    device->Use();
    device->Check(device->api().aclmdlLoadFromFile(path.c_str(), &id), "loading " + path + " onto device " + std::to_string(device->id()));
    desc = device->api().aclmdlCreateDesc();
  }
  ~Loaded() {
    device->api().aclmdlDestroyDesc(desc);
    // A card at fault takes its models with it when it is reset.
    if (!device->is_faulty() && device->TryUse()) device->api().aclmdlUnload(id);
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  std::shared_ptr<Device> device;
  uint32_t id = 0;
  aclmdlDesc* desc = nullptr;
};

/** All that one run needs. */
struct OmModel::Launch {
  explicit Launch(std::shared_ptr<Loaded> of) : model(std::move(of)), api(model->device->api()), input(api.aclmdlCreateDataset()), output(api.aclmdlCreateDataset()) {}
  ~Launch() {
    for (aclDataBuffer* buffer : entries) api.aclDestroyDataBuffer(buffer);
    api.aclmdlDestroyDataset(input);
    api.aclmdlDestroyDataset(output);
    for (aclTensorDesc* desc : descs) api.aclDestroyTensorDesc(desc);
  }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  void Add(aclmdlDataset* dataset, void* data, size_t bytes) {
    entries.push_back(api.aclCreateDataBuffer(data, bytes));
    Check(api, api.aclmdlAddDatasetBuffer(dataset, entries.back()), "describing the buffers of a run");
  }
  Buffer& Memory(size_t bytes) { return memory.emplace_back(model->device->device_memory().Take(std::max<size_t>(bytes, 1))); }

  std::shared_ptr<Loaded> model;
  const AclApi& api;
  aclmdlDataset* input;
  aclmdlDataset* output;
  std::vector<aclDataBuffer*> entries;
  std::vector<aclTensorDesc*> descs;
  std::vector<Buffer> memory;
  std::vector<void*> inputs;
  std::vector<size_t> capacities;
};

OmModel::OmModel(std::shared_ptr<Device> device, const std::string& path, const OmOptions& options) : device_(std::move(device)), options_(options), path_(path) {
  const AclApi& api = device_->api();
  CheckChip(path);
  device_->Use();
  Check(api, api.aclmdlQuerySize(path.c_str(), &work_bytes_, &weight_bytes_), "reading the memory needs of " + path);
  try {
    auto result = std::make_shared<std::shared_ptr<Loaded>>();
    WithLimit(*device_, "loading " + path, options_.load_timeout, [result, device = device_, path] { *result = std::make_shared<Loaded>(device, path); });
    loaded_ = *result;
  } catch (const Error& error) {
    RethrowLoad(error, path, api);
  }
  device_->Use();
  device_->Check(api.aclmdlGetDesc(loaded_->desc, loaded_->id), "describing " + path);
  description_ = DescribeOm(api, loaded_->desc);
  if (description_.has_free_shapes() && (api.aclCreateTensorDesc == nullptr || api.aclmdlSetDatasetTensorDesc == nullptr || api.aclmdlGetDatasetTensorDesc == nullptr)) {
    throw Error(ErrorKind::Unsupported, path + " has free shapes, which this CANN (" + api.Version() + ") cannot run: compile it with gears, or update CANN");
  }
  staged_.resize(description_.inputs.size());
  stream_ = std::make_unique<Stream>(device_);
  LimitCores();
  NoteCoreLimits();
  if (description_.gear_input.has_value()) ReadGearOutputs();
}

OmModel::~OmModel() {
  // First the stream, since its work uses all the rest.
  stream_.reset();
  last_.reset();
  results_.clear();
  staged_.clear();
}

void OmModel::CheckChip(const std::string& path) const {
  const OmFileFacts facts = RequireOmFile(path);
  const std::string card = SocName(device_->api());
  const std::string family = ChipFamily(card);
  // Where the name of a chip stands in a file is not published; only one clear answer counts.
  if (!options_.check_chip || family.empty() || facts.chips.size() != 1 || ChipFamily(facts.chips[0]) == family) return;
  throw Error(ErrorKind::InvalidArgument, path + " was compiled for " + facts.chips[0] + ", this machine's card is " + card + ": compile it again with atc --soc_version=" +
                                              card + ". If the file is right all the same, set the parameter check_chip to false");
}

void OmModel::LimitCores() {
  if (options_.cube_cores == 0 && options_.vector_cores == 0) return;
  const AclApi& api = device_->api();
  if (api.aclrtSetStreamResLimit == nullptr || api.aclrtUseStreamResInCurrentThread == nullptr || api.aclrtUnuseStreamResInCurrentThread == nullptr) return;
  const auto set = [&](aclrtDevResLimitType type, uint32_t cores, const char* what) {
    if (cores > 0) device_->Check(api.aclrtSetStreamResLimit(stream_->handle(), type, cores), "limiting " + path_ + " to " + std::to_string(cores) + " " + what);
  };
  set(ACL_RT_DEV_RES_CUBE_CORE, options_.cube_cores, "cube cores");
  set(ACL_RT_DEV_RES_VECTOR_CORE, options_.vector_cores, "vector cores");
  limits_cores_ = true;
}

void OmModel::NoteCoreLimits() {
  if (options_.cube_cores == 0 && options_.vector_cores == 0) return;
  if (!limits_cores_) {
    notes_.emplace_back("aicore_num is not applied: core limits at run time come with CANN 8.3, this is " + device_->api().Version());
  } else if (!description_.has_free_shapes()) {
    notes_.emplace_back("aicore_num may not act on this model: its shapes are fixed, and it was compiled for a number of cores");
  }
}

void OmModel::ReadGearOutputs() {
  const AclApi& api = device_->api();
  for (size_t gear = 0; gear < description_.gears.size(); gear++) {
    RunPlan plan;
    plan.gear = gear;
    plan.inputs = description_.gears[gear].inputs;
    const auto launch = MakeLaunch(plan, true);
    SetGear(*launch, gear);
    for (size_t output = 0; output < description_.outputs.size(); output++) {
      auto dims = std::make_unique<aclmdlIODims>();
      device_->Check(api.aclmdlGetCurOutputDims(loaded_->desc, output, dims.get()), "reading the shape of output " + std::to_string(output) + " of " + path_);
      description_.gears[gear].outputs.emplace_back(dims->dims, dims->dims + std::min<size_t>(dims->dimCount, ACL_MAX_DIM_CNT));
    }
  }
}

size_t OmModel::InputBytes(size_t input, const Dims& dims) const {
  const OmTensor& tensor = description_.inputs[input];
  const size_t element = ElementBytes(tensor.type);
  if (element == 0) {
    throw Error(ErrorKind::Unsupported, "input '" + tensor.name + "' of " + path_ + " has the data type " + std::to_string(tensor.type) +
                                            " of AscendCL, which cannot be sent: compile the model with another type for it");
  }
  return static_cast<size_t>(std::max<int64_t>(ElementCount(dims), 0)) * element;
}

void* OmModel::Stage(size_t input, size_t bytes) {
  // A card at fault may still read what was staged last.
  device_->RequireSound();
  Buffer& buffer = staged_[input];
  if (buffer.capacity() < bytes) {
    buffer = Buffer();
    buffer = device_->pinned_memory().Take(std::max<size_t>(bytes, 1));
  }
  return buffer.data();
}

std::shared_ptr<OmModel::Launch> OmModel::MakeLaunch(const RunPlan& plan, bool has_own_outputs) {
  const AclApi& api = device_->api();
  auto launch = std::make_shared<Launch>(loaded_);
  launch->memory.reserve(description_.inputs.size() + description_.outputs.size() + 1);
  const size_t total = description_.inputs.size() + (description_.gear_input.has_value() ? 1 : 0);
  for (size_t at = 0, index = 0; at < total; at++) {
    if (at == description_.gear_input) {
      launch->Add(launch->input, launch->Memory(description_.gear_input_bytes).data(), description_.gear_input_bytes);
      continue;
    }
    const OmTensor& tensor = description_.inputs[index];
    // With fixed shapes the buffer is as large as the model says; it may be more than the dims (AIPP, alignment).
    const size_t bytes = std::max(InputBytes(index, plan.inputs[index]), description_.has_free_shapes() ? 0 : tensor.bytes);
    Buffer& buffer = launch->Memory(bytes);
    launch->inputs.push_back(buffer.data());
    launch->capacities.push_back(buffer.capacity());
    launch->Add(launch->input, buffer.data(), bytes);
    if (description_.has_free_shapes()) {
      const Dims& dims = plan.inputs[index];
      launch->descs.push_back(api.aclCreateTensorDesc(tensor.type, static_cast<int>(dims.size()), dims.data(), tensor.format));
      device_->Check(api.aclmdlSetDatasetTensorDesc(launch->input, launch->descs.back(), at), "setting the shape of input '" + tensor.name + "'");
    }
    index++;
  }
  for (size_t index = 0; index < description_.outputs.size(); index++) {
    if (!has_own_outputs) {
      launch->Add(launch->output, nullptr, 0);
      continue;
    }
    size_t bytes = description_.outputs[index].bytes;
    if (description_.has_free_shapes() && !options_.output_bytes.empty()) bytes = options_.output_bytes[std::min(index, options_.output_bytes.size() - 1)];
    launch->Add(launch->output, launch->Memory(bytes).data(), bytes);
  }
  return launch;
}

void OmModel::SetGear(Launch& launch, size_t gear) {
  if (!description_.gear_input.has_value()) return;
  const AclApi& api = device_->api();
  const Dims& key = description_.gears[gear].key;
  const size_t index = *description_.gear_input;
  aclError code = ACL_SUCCESS;
  switch (description_.gear_kind) {
    case GearKind::Batch: code = api.aclmdlSetDynamicBatchSize(loaded_->id, launch.input, index, static_cast<uint64_t>(key[0])); break;
    case GearKind::Image: code = api.aclmdlSetDynamicHWSize(loaded_->id, launch.input, index, static_cast<uint64_t>(key[0]), static_cast<uint64_t>(key[1])); break;
    default: {
      auto dims = std::make_unique<aclmdlIODims>();
      dims->dimCount = std::min<size_t>(key.size(), ACL_MAX_DIM_CNT);
      std::copy_n(key.begin(), dims->dimCount, dims->dims);
      code = api.aclmdlSetInputDynamicDims(loaded_->id, launch.input, index, dims.get());
    }
  }
  device_->Check(code, "choosing the gear " + description_.gears[gear].text + " of " + path_);
}

void OmModel::RunFree(const std::shared_ptr<Launch>& launch) {
  stream_->Synchronize(options_.timeout);  // the inputs are there
  WithLimit(*device_, "running " + path_, options_.timeout, [launch, stream = limits_cores_ ? stream_->handle() : nullptr, path = path_] {
    Device& device = *launch->model->device;
    device.Use();
    if (stream != nullptr) device.Check(launch->api.aclrtUseStreamResInCurrentThread(stream), "limiting the cores of " + path);
    device.Check(launch->api.aclmdlExecute(launch->model->id, launch->input, launch->output), "running " + path);
  });
}

std::vector<OmOutput> OmModel::Run(const RunPlan& plan, OmTimes* times) {
  const AclApi& api = device_->api();
  device_->Use();
  // After an error a stream may stay in it.
  if (stream_ == nullptr) {
    stream_ = std::make_unique<Stream>(device_);
    LimitCores();
  }
  const bool has_room = !description_.has_free_shapes() || !options_.output_bytes.empty() ||
                        std::all_of(description_.outputs.begin(), description_.outputs.end(), [](const OmTensor& output) { return output.bytes > 0; });
  last_ = MakeLaunch(plan, has_room);
  const auto launch = last_;
  try {
    auto start = Clock::now();
    for (size_t index = 0; index < description_.inputs.size(); index++) {
      stream_->CopyToDevice(launch->inputs[index], launch->capacities[index], staged_[index].data(), InputBytes(index, plan.inputs[index]));
    }
    if (plan.gear.has_value()) SetGear(*launch, *plan.gear);
    if (times != nullptr) {
      stream_->Synchronize(options_.timeout);
      times->copy_in = Since(start);
      start = Clock::now();
    }
    if (!has_room) {
      RunFree(launch);
    } else {
      if (limits_cores_) device_->Check(api.aclrtUseStreamResInCurrentThread(stream_->handle()), "limiting the cores of " + path_);
      const aclError code = api.aclmdlExecuteAsync(loaded_->id, launch->input, launch->output, stream_->handle());
      if (limits_cores_) api.aclrtUnuseStreamResInCurrentThread(stream_->handle());
      device_->Check(code, "running " + path_);
      // Shapes of free outputs are known when the run is done.
      if (times != nullptr || description_.has_free_shapes()) stream_->Synchronize(options_.timeout);
    }
    if (times != nullptr) times->run = Since(start);
    auto outputs = CopyBack(*launch, plan, times);
    last_.reset();
    return outputs;
  } catch (...) {
    // The run may go on: its memory and what was staged serve again when it is over. On a faulty card both stay until that was reset.
    if (!stream_->Settle(options_.timeout) && !device_->is_faulty()) stream_.reset();
    if (!device_->is_faulty()) last_.reset();
    throw;
  }
}

std::vector<Dims> OmModel::OutputShapes(const Launch& launch, const RunPlan& plan) const {
  if (!description_.has_free_shapes()) return plan.outputs;
  const AclApi& api = device_->api();
  std::vector<Dims> shapes;
  for (size_t index = 0; index < description_.outputs.size(); index++) {
    const aclTensorDesc* desc = api.aclmdlGetDatasetTensorDesc(launch.output, index);
    if (desc == nullptr || api.aclGetTensorDescNumDims == nullptr || api.aclGetTensorDescDimV2 == nullptr) {
      throw Error(ErrorKind::Internal, "CANN does not tell the shape of output '" + description_.outputs[index].name + "' of " + path_ + ": compile the model with gears");
    }
    Dims& dims = shapes.emplace_back(api.aclGetTensorDescNumDims(desc));
    for (size_t axis = 0; axis < dims.size(); axis++) Check(api, api.aclGetTensorDescDimV2(desc, axis, &dims[axis]), "reading the shape of an output");
  }
  return shapes;
}

std::vector<OmOutput> OmModel::CopyBack(Launch& launch, const RunPlan& plan, OmTimes* times) {
  const AclApi& api = device_->api();
  const auto start = Clock::now();
  const std::vector<Dims> shapes = OutputShapes(launch, plan);
  results_.resize(shapes.size());
  std::vector<OmOutput> outputs;
  for (size_t index = 0; index < shapes.size(); index++) {
    const OmTensor& tensor = description_.outputs[index];
    const size_t element = ElementBytes(tensor.type);
    if (element == 0) throw Error(ErrorKind::Unsupported, "output '" + tensor.name + "' of " + path_ + " has a data type that cannot be sent: compile it with --output_type");
    const size_t bytes = static_cast<size_t>(ElementCount(shapes[index])) * element;
    aclDataBuffer* entry = api.aclmdlGetDatasetBuffer(launch.output, index);
    // Where an output is larger than its room the card has written beyond it without a word.
    const size_t room = api.aclGetDataBufferSizeV2 == nullptr ? bytes : api.aclGetDataBufferSizeV2(entry);
    if (bytes > room) {
      throw Error(ErrorKind::InvalidArgument, "output '" + tensor.name + "' has " + std::to_string(bytes) + " bytes, output_bytes allows " + std::to_string(room) +
                                                  ": raise it, or leave it out");
    }
    Buffer& buffer = results_[index];
    if (buffer.capacity() < bytes) {
      buffer = Buffer();
      buffer = device_->pinned_memory().Take(std::max<size_t>(bytes, 1));
    }
    stream_->CopyToHost(buffer.data(), buffer.capacity(), api.aclGetDataBufferAddr(entry), bytes);
    outputs.push_back({buffer.data(), bytes, shapes[index], plan.cropped.empty() ? shapes[index] : plan.cropped[index]});
  }
  stream_->Synchronize(options_.timeout);
  // What CANN allocated in a run of free shapes is ours to free.
  if (description_.has_free_shapes() && launch.memory.size() == description_.inputs.size()) {
    for (size_t index = 0; index < shapes.size(); index++) {
      if (void* data = api.aclGetDataBufferAddr(api.aclmdlGetDatasetBuffer(launch.output, index))) api.aclrtFree(data);
    }
  }
  if (times != nullptr) times->copy_out = Since(start);
  return outputs;
}

}  // namespace npu_console::ascend
