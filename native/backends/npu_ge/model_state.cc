#include "model_state.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "ascend/supervised.h"
#include "auto_config.h"

namespace npu_console::npu_ge {

namespace {

namespace fs = std::filesystem;

constexpr int kStreamsAdvised = 8;
constexpr std::size_t kMostGears = 100, kMostGears950 = 256;
constexpr auto kAskLimit = std::chrono::seconds(60);

fs::path DefaultWorkDirectory() {
  // What CANN itself goes by.
  if (const char* const chosen = std::getenv("ASCEND_WORK_PATH"); chosen != nullptr && *chosen == '/') return fs::path(chosen) / "npu_ge";
  if (const char* const cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') return fs::path(cache) / "npu-console/npu_ge";
  if (const char* const home = std::getenv("HOME"); home != nullptr && *home == '/') return fs::path(home) / ".cache/npu-console/npu_ge";
  return fs::temp_directory_path() / ("npu-console-" + std::to_string(getuid()) + "/npu_ge");
}

// Where this library lies.
fs::path OwnDirectory() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&OwnDirectory), &info) == 0 || info.dli_fname == nullptr) return {};
  return fs::absolute(info.dli_fname).parent_path();
}

// The first file with that ending in the order of names; the name that Triton's backends use goes first.
fs::path FirstFile(const fs::path& directory, const std::string& extension, const char* usual) {
  std::error_code error;
  if (fs::exists(directory / usual, error)) return directory / usual;
  std::vector<fs::path> found;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == extension) found.push_back(it->path());
  }
  return found.empty() ? fs::path() : *std::min_element(found.begin(), found.end());
}

// "name:1,3,-1;other:" as the parsers of GE want shapes.
std::string ShapesText(const ModelSignature& signature, const kit::ModelConfig& config) {
  std::string text;
  for (const TensorSignature& input : signature.inputs) {
    const kit::TensorConfig* const declared = config.Input(input.name);
    std::vector<std::int64_t> dims = declared != nullptr ? declared->model_dims() : input.shape();
    if (declared != nullptr && config.is_batching()) dims.insert(dims.begin(), -1);
    // A scalar is written as one element.
    if (input.has_shape && input.dims.empty()) dims.clear();
    text += (text.empty() ? "" : ";") + input.name + ":";
    for (std::size_t axis = 0; axis < dims.size(); ++axis) text += (axis == 0 ? "" : ",") + std::to_string(dims[axis]);
  }
  return text;
}

Json Texts(const std::vector<std::string>& texts) {
  Json list = Json::Array();
  for (const std::string& text : texts) list.Append(Json::Text(text));
  return list;
}

}  // namespace

kit::Error ToKit(const ascend::Error& error) {
  switch (error.kind()) {
    case ascend::ErrorKind::InvalidArgument: return kit::InvalidArgument(error.what());
    case ascend::ErrorKind::NotFound: return {TRITONSERVER_ERROR_NOT_FOUND, error.what()};
    case ascend::ErrorKind::Unsupported: return kit::Unsupported(error.what());
    case ascend::ErrorKind::Unavailable: return kit::Unavailable(error.what());
    case ascend::ErrorKind::Internal: break;
  }
  return kit::Internal(error.what());
}

std::unique_ptr<BackendState> BackendState::Create(TRITONBACKEND_Backend* backend) {
  auto state = std::make_unique<BackendState>();
  state->settings = kit::BackendSettings(backend);
  state->cann_directory = state->settings.Text("cann-library-directory").value_or("");
  if (!state->cann_directory.empty() && state->cann_directory.front() != '/') {
    throw kit::InvalidArgument("--backend-config=npu_ge,cann-library-directory=" + state->cann_directory + " has to be an absolute path");
  }
  const fs::path own = OwnDirectory();
  state->bridge_directory = (fs::exists(own / "libnpu_ge_bridge.so") ? own : own / "../..").lexically_normal().string();
  state->work_directory = state->settings.Text("work-directory").value_or(DefaultWorkDirectory().string());
  if (!state->work_directory.is_absolute()) {
    throw kit::InvalidArgument("--backend-config=npu_ge,work-directory=" + state->work_directory.string() + " has to be an absolute path");
  }
  return state;
}

std::unique_ptr<ModelState> ModelState::Create(TRITONBACKEND_Model* model, const BackendState& backend) {
  std::unique_ptr<ModelState> state(new ModelState(model, kit::ReadModel(model)));
  state->options_ = ReadModelOptions(state->facts_, backend.settings, backend.work_directory);
  state->ReadFile();
  state->Complete(backend);
  CheckModelOptions(state->options_, state->facts_.config);
  Translated([&] { state->PrepareCards(backend); });
  return state;
}

ModelState::~ModelState() {
  if (scheduler_ != nullptr) scheduler_->Stop();
}

void ModelState::ReadFile() {
  const fs::path directory = facts_.version_directory();
  if (!facts_.config.default_model_filename.empty()) {
    file_ = kit::FindModelFile(facts_, facts_.config.default_model_filename);
  } else {
    file_ = FirstFile(directory, ".onnx", "model.onnx");
    if (file_.empty()) file_ = FirstFile(directory, ".pb", "model.pb");
    if (file_.empty()) throw kit::Unavailable("There is no .onnx file and no frozen TensorFlow .pb file in " + directory.string() + ": put it there as model.onnx, or name it in default_model_filename");
  }
  file_ = fs::absolute(file_);
  is_tensorflow_ = file_.extension() == ".pb";
  if (!is_tensorflow_) signature_ = ReadOnnxFile(file_);
}

void ModelState::Complete(const BackendState& backend) {
  kit::ModelConfig& config = facts_.config;
  const bool is_incomplete = config.inputs.empty() || config.outputs.empty();
  if (is_incomplete && is_tensorflow_) {
    throw kit::InvalidArgument("The configuration of model '" + facts_.name +
                               "' has to list its inputs and outputs, in the order of the graph: a TensorFlow file does not tell them");
  }
  if (is_incomplete && !facts_.auto_complete) {
    throw kit::InvalidArgument("The configuration of model '" + facts_.name + "' has to list its inputs and outputs, since the server does not complete configurations");
  }
  if (is_incomplete) {
    for (const auto* tensors : {&signature_.inputs, &signature_.outputs}) {
      for (const TensorSignature& tensor : *tensors) {
        if (tensor.datatype == TRITONSERVER_TYPE_INVALID) {
          throw kit::Unsupported("Tensor '" + tensor.name + "' of " + file_.string() + " has the ONNX element type " + std::to_string(tensor.element_type) +
                                 ", which Triton does not know");
        }
      }
    }
    const kit::Options read(config, backend.settings);
    const std::int64_t default_size = read.Integer("default-max-batch-size", 0, INT32_MAX).value_or(kDefaultMaxBatchSize);
    const Json completed = CompleteConfig(config, signature_, default_size, options_.is_static);
    kit::SetModelConfig(handle_, completed);
    config = kit::ParseModelConfig(completed.Write());
  }
  if (is_tensorflow_) {
    signature_ = SignatureOf(config);
  } else {
    CheckAgainstFile(config, signature_);
  }
  for (const auto* tensors : {&signature_.inputs, &signature_.outputs}) {
    for (const TensorSignature& tensor : *tensors) GeTypeOf(tensor.datatype);
  }
}

void ModelState::PrepareCards(const BackendState& backend) {
  library_ = &ascend::GeLibrary::Load(backend.cann_directory, backend.bridge_directory);
  // On a thread that can be left behind: a driver that hangs answers nothing.
  const auto asked = std::make_shared<std::pair<int, std::string>>();
  ascend::RunSupervised("asking the driver for its cards", kAskLimit, [asked, &acl = library_->acl] {
    acl.Initialize();
    *asked = {ascend::Device::Count(acl), ascend::SocName(acl)};
  });
  const auto& [count, chip] = *asked;
  chip_ = chip;
  if (count == 0) {
    throw kit::Unavailable("No NPU is there for this process: npu-console doctor looks for the reason (driver, the group HwHiAiUser, ASCEND_RT_VISIBLE_DEVICES)");
  }
  if (chip_.starts_with("Ascend310B")) {
    throw kit::Unsupported("The " + chip_ + " has no online graph engine: compile the model to an .om file (atc --soc_version=" + chip_ + ") and serve it with backend: \"npu_om\"");
  }
  devices_ = options_.device_ids;
  if (devices_.empty()) {
    for (const kit::InstanceGroupConfig& group : facts_.config.instance_groups) {
      if (group.kind != "KIND_GPU") continue;
      for (const std::int64_t id : group.device_ids) {
        if (std::find(devices_.begin(), devices_.end(), id) == devices_.end()) devices_.push_back(static_cast<int>(id));
      }
    }
  }
  if (devices_.empty()) {
    for (int id = 0; id < count; ++id) devices_.push_back(id);
  }
  for (const int id : devices_) {
    if (id >= count) {
      throw kit::InvalidArgument("Model '" + facts_.name + "' wants card " + std::to_string(id) + ", and this process sees " + std::to_string(count) +
                                 " (numbered from 0): change device_ids; npu-console doctor lists the cards");
    }
  }

  std::vector<std::string> inputs;
  for (const TensorSignature& input : signature_.inputs) inputs.push_back(input.name);
  if (options_.has_gears()) {
    gears_ = Gears::Parse(*options_.Effective("ge.inputShape"), *options_.Effective("ge.dynamicDims"), inputs, facts_.config.is_batching(),
                          chip_.starts_with("Ascend950") ? kMostGears950 : kMostGears);
  }

  Scheduler::Setup setup;
  setup.devices = devices_;
  setup.load_timeout = options_.load_timeout;
  setup.plan.library = library_;
  setup.plan.blocks = BlocksPerDevice(options_, facts_.config, devices_.size());
  setup.plan.session_per_block = options_.session_per_stream;
  setup.plan.execution_timeout = options_.execution_timeout;
  setup.plan.work_directory = backend.work_directory.string();
  ascend::GePlan& plan = setup.plan.model;
  plan.name = "model '" + facts_.name + "'";
  plan.file = file_.string();
  plan.format = is_tensorflow_ ? NPU_GE_TENSORFLOW : NPU_GE_ONNX;
  plan.parser_options = options_.parser;
  // A static graph is one of whole shapes. A TensorFlow file has placeholders without any.
  if (options_.is_static || is_tensorflow_) plan.parser_options.emplace("input_shape", ShapesText(signature_, facts_.config));
  plan.session_options = options_.session;
  plan.graph_options = options_.graph;

  if (setup.plan.blocks > kStreamsAdvised) {
    options_.notes.push_back(std::to_string(setup.plan.blocks) + " streams on a card: more than " + std::to_string(kStreamsAdvised) +
                             " make the slowest requests slower (device_exec_blocks)");
  }
  if (gears_.has_value() && facts_.config.is_batching()) {
    options_.notes.push_back("Batches between two gears are padded to the next one; larger ones than the largest gear are split");
  }
  if (is_tensorflow_) {
    options_.notes.push_back("TensorFlow graphs were never run on a card by this backend's makers: check the numbers");
    KIT_LOG(WARN, "model '" + facts_.name + "': " + options_.notes.back());
  }
  if (library_->is_unproven) {
    options_.notes.push_back("The bridge to GE was not built against the headers of this CANN: build on this machine (native/tools/check-on-npu.sh) before you rely on it");
    KIT_LOG(WARN, options_.notes.back());
  }

  lease_ = ascend::GeEngine::Instance().Start(*library_, facts_.name, options_.process, backend.work_directory.string());
  setup.lease = lease_;
  for (std::string& sentence : ascend::GeEngine::Instance().ForeignOptions(*lease_)) options_.notes.push_back(std::move(sentence));
  if (const std::string problem = ascend::GeEngine::Instance().DirectoryProblem(); !problem.empty()) {
    options_.notes.push_back("GE may write files of its own into the server's current directory (" + problem + "): start the server outside of the model repository");
    KIT_LOG(WARN, options_.notes.back());
  }
  scheduler_ = std::make_shared<Scheduler>(std::move(setup));
}

void ModelState::Enter() {
  Translated([&] {
    const std::lock_guard lock(mutex_);
    // Later on one card that runs is enough to serve: the others are brought back beside.
    scheduler_->Start(!was_started_);
    was_started_ = true;
    ++instances_;
    ReportMemory();
  });
}

void ModelState::Leave() {
  const std::lock_guard lock(mutex_);
  if (--instances_ > 0) return;
  scheduler_->Stop();
  ReportMemory();
}

void ModelState::ReportMemory() {
  std::vector<kit::MemoryUse> uses;
  for (const auto& card : scheduler_->Cards()) {
    uses.push_back({TRITONSERVER_MEMORY_GPU, card->device()->id(), card->facts().weight_bytes + card->facts().workspace_bytes});
  }
  kit::ReportMemory(handle_, uses);
}

Json ModelState::Report(std::optional<int> device) {
  Json report = Json::Object();
  report.Set("runs_on", Json::Text("npu"));
  report.Set("simulated", Json::Bool(library_->acl.is_simulated));
  if (!chip_.empty()) report.Set("chip", Json::Text(chip_));
  report.Set("precision", Json::Text(options_.Precision()));
  std::vector<std::string> notes = options_.notes;
  Json devices = Json::Array();
  std::uint64_t weights = 0, workspace = 0;
  int streams = 0;
  bool is_static = true, is_known = false;
  std::optional<int> first;
  for (const auto& card : scheduler_->Cards()) {
    const int id = card->device()->id();
    if (device.has_value() && id != *device) continue;
    if (!first.has_value()) first = id;
    devices.Append(Json::Whole(id));
    weights += card->facts().weight_bytes;
    workspace += card->facts().workspace_bytes;
    streams += card->blocks();
    is_static = is_static && card->facts().is_static;
    is_known = true;
  }
  if (first.has_value()) report.Set("device", Json::Whole(*first));
  report.Set("devices", devices);
  if (gears_.has_value()) {
    report.Set("graph", Json::Text("gears"));
    report.Set("gears", Texts(gears_->Texts()));
  } else if (is_known) {
    report.Set("graph", Json::Text(is_static ? "static" : "dynamic"));
  }
  if (is_known) {
    report.Set("streams", Json::Whole(streams));
    report.Set("weight_bytes", Json::Whole(static_cast<std::int64_t>(weights)));
    report.Set("workspace_bytes", Json::Whole(static_cast<std::int64_t>(workspace)));
    // The cards are the model's: each of its instances tells of the same bytes.
    report.Set("memory_is_shared", Json::Bool(true));
    if (options_.is_static && !is_static) {
      notes.push_back("static_model is set, but GE says that the graph is not static: an operator of it has no fixed shape; onnxsim on the ONNX file often helps");
    }
  }
  if (const auto cores = options_.Effective("ge.aicoreNum"); cores.has_value()) notes.push_back("Core limit (ge.aicoreNum): " + *cores);
  for (std::string& fault : scheduler_->Faults()) notes.push_back(std::move(fault));
  if (!notes.empty()) report.Set("notes", Texts(notes));
  return report;
}

}  // namespace npu_console::npu_ge
