#include "model_options.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <string_view>

namespace npu_console::npu_ge {

namespace {

using kit::InvalidArgument;

constexpr int kMostStreams = 256;

enum Level : unsigned { kProcess = 1, kSession = 2, kGraph = 4 };

// Options that act at some levels only; the others may stand at any.
struct LevelRule {
  std::string_view key;
  unsigned levels;
};
constexpr LevelRule kLevelRules[] = {
    {"ge.aicoreNum", kProcess | kSession},  // at the graph it compiles, and LoadGraph then fails with "GetPlatformInfo failed"
    {"ge.graphRunMode", kProcess | kSession},
    {"ge.exec.profilingMode", kProcess},
    {"ge.exec.profilingOptions", kProcess},
    {"ac_parallel_enable", kProcess},
    {"ge.inputShape", kSession | kGraph},
    {"ge.dynamicDims", kSession | kGraph},
    {"ge.dynamicNodeType", kSession | kGraph},
    {"ge.enableSingleStream", kGraph},
};

// Options that the backend gives itself.
struct OwnOption {
  std::string_view key;
  std::string_view instead;
};
constexpr OwnOption kOwnOptions[] = {
    {"ge.session_device_id", "name the cards with device_ids"},
    {"ge.exec.deviceId", "name the cards with device_ids"},
    {"ge.exec.hostInputIndexes", "the backend copies every input to the card"},
    {"ge.exec.frozenInputIndexes", "the backend does not keep inputs at one address"},
};

std::string LevelText(unsigned levels) {
  std::string text;
  const auto add = [&](unsigned level, const char* name) {
    if ((levels & level) != 0) text += (text.empty() ? "" : " or ") + std::string(name);
  };
  add(kProcess, "the process (ge.)");
  add(kSession, "the session (session.)");
  add(kGraph, "the graph (graph.)");
  return text;
}

void Place(ModelOptions& options, const std::string& written, const std::string& key, const std::string& value, Level level) {
  if (key.empty()) throw InvalidArgument("The option '" + written + "' names nothing after its prefix");
  for (const OwnOption& own : kOwnOptions) {
    if (own.key == key) throw InvalidArgument("'" + written + "' cannot be set: " + std::string(own.instead));
  }
  for (const LevelRule& rule : kLevelRules) {
    if (rule.key == key && (rule.levels & level) == 0) {
      throw InvalidArgument("'" + key + "' acts on " + LevelText(rule.levels) + ", not on " + LevelText(level) + ": '" + written + "' has to be renamed");
    }
  }
  (level == kProcess ? options.process : level == kSession ? options.session : options.graph)[key] = value;
}

// Sorts one setting into the level that its prefix names; false where it is no option of GE.
bool TakeOption(ModelOptions& options, const std::string& written, const std::string& value) {
  const std::string_view name = written;
  const auto after = [&](std::string_view prefix) { return std::string(name.substr(prefix.size())); };
  if (name.starts_with("session.")) {
    Place(options, written, after("session."), value, kSession);
  } else if (name.starts_with("graph.")) {
    Place(options, written, after("graph."), value, kGraph);
  } else if (name.starts_with("global.")) {
    Place(options, written, after("global."), value, kProcess);
  } else if (name.starts_with("ge.")) {
    Place(options, written, written, value, kProcess);
  } else if (name.starts_with("parser.")) {
    options.parser[after("parser.")] = value;
  } else {
    return false;
  }
  return true;
}

// What the model says of an option holds against the command line, at whichever levels the two stand: a default at a narrower level would win over it in GE.
void TakeOver(ModelOptions& options, const ModelOptions& own) {
  for (const auto& [key, value] : own.process) {
    options.session.erase(key);
    options.graph.erase(key);
    options.process[key] = value;
  }
  for (const auto& [key, value] : own.session) {
    options.graph.erase(key);
    options.session[key] = value;
  }
  for (const auto& [key, value] : own.graph) options.graph[key] = value;
  for (const auto& [key, value] : own.parser) options.parser[key] = value;
}

// GE_NPU_CONFIG: {"ge.exec.precision_mode_v2": "origin"}, stronger than all other options of the process.
void TakeEnvironment(ModelOptions& options) {
  const char* const text = std::getenv("GE_NPU_CONFIG");
  if (text == nullptr || *text == '\0') return;
  Json document;
  std::string problem;
  if (!Json::Parse(text, document, problem)) throw InvalidArgument("The environment variable GE_NPU_CONFIG is no JSON: " + problem);
  if (!document.IsObject()) throw InvalidArgument("The environment variable GE_NPU_CONFIG has to be a JSON object with options of GE, such as {\"ge.aicoreNum\": \"12|10\"}");
  for (const auto& [key, value] : document.members()) {
    const std::string shown = value.kind() == Json::Kind::String ? value.String("") : value.Write();
    Place(options, "GE_NPU_CONFIG: " + key, key.starts_with("global.") ? key.substr(7) : key, shown, kProcess);
  }
}

std::vector<int> ReadDeviceIds(const std::string& text) {
  std::vector<int> ids;
  std::string_view left = text;
  while (true) {
    const std::size_t comma = left.find(',');
    std::string_view part = left.substr(0, comma);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    int id = -1;
    const auto [end, problem] = std::from_chars(part.data(), part.data() + part.size(), id);
    if (problem != std::errc() || end != part.data() + part.size() || id < 0) {
      throw InvalidArgument("device_ids is a list of card numbers such as \"2\" or \"2,3\", not \"" + text + "\"");
    }
    if (std::find(ids.begin(), ids.end(), id) != ids.end()) throw InvalidArgument("device_ids \"" + text + "\" names card " + std::to_string(id) + " twice");
    ids.push_back(id);
    if (comma == std::string_view::npos) return ids;
    left.remove_prefix(comma + 1);
  }
}

void MakeDirectory(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    throw InvalidArgument("GE cannot write to " + directory.string() + " (" + error.message() +
                          "): set --backend-config=npu_ge,work-directory=DIR to a folder that the server's user may write to");
  }
}

void TakeSwitches(ModelOptions& options, const kit::Options& read, const kit::ModelFacts& model, const std::filesystem::path& work_directory) {
  if (read.Boolean("dump_graph").value_or(false)) {
    const std::filesystem::path directory = work_directory / "dump_graph";
    options.process["env:DUMP_GE_GRAPH"] = "2";
    options.process["env:DUMP_GRAPH_LEVEL"] = "2";
    options.process["env:DUMP_GRAPH_PATH"] = directory.string();
    MakeDirectory(directory);
    options.notes.push_back("GE writes its graphs to " + directory.string());
  }
  if (read.Boolean("dump_data").value_or(false)) {
    const std::filesystem::path directory = work_directory / "dump_data" / model.name;
    options.session.emplace("ge.exec.enableDump", "1");
    options.session.emplace("ge.exec.dumpPath", directory.string());
    options.session.emplace("ge.exec.dumpMode", "all");
    MakeDirectory(directory);
    options.notes.push_back("GE writes the tensors of every operator to " + options.session.at("ge.exec.dumpPath") + ", which slows it down");
  }
  const std::string profiling = read.Text("profiling").value_or("false");
  if (profiling == "true" || profiling == "1") {
    const std::filesystem::path directory = work_directory / "profiling";
    MakeDirectory(directory);
    options.process.emplace("ge.exec.profilingMode", "1");
    options.process.emplace("ge.exec.profilingOptions", R"({"output":")" + directory.string() + R"(","task_time":"on","runtime_api":"on","aic_metrics":"PipeUtilization"})");
    options.notes.push_back("GE records a profile into " + directory.string());
  } else if (profiling == "dynamic") {
    options.process["env:PROFILING_MODE"] = "dynamic";
    options.notes.push_back("GE waits for msprof --dynamic=on --pid=<the server's>");
  } else if (profiling != "false" && profiling != "0") {
    throw InvalidArgument("profiling is true, dynamic or false, not \"" + profiling + "\"");
  }
}

}  // namespace

std::optional<std::string> ModelOptions::Effective(const std::string& key) const {
  for (const ascend::GeOptionMap* level : {&graph, &session, &process}) {
    if (const auto found = level->find(key); found != level->end()) return found->second;
  }
  return std::nullopt;
}

std::string ModelOptions::Precision() const {
  const std::optional<std::string> second = Effective("ge.exec.precision_mode_v2");
  return second.value_or(Effective("ge.exec.precision_mode").value_or("fp16"));
}

ModelOptions ReadModelOptions(const kit::ModelFacts& model, const kit::BackendSettings& settings, const std::filesystem::path& work_directory) {
  ModelOptions options;
  // What stands for all models on one machine, then the command line, then the model, then the environment.
  options.process["ge.graphRunMode"] = "0";
  options.session["ge.constLifecycle"] = "session";
  for (const auto& [key, value] : settings.values()) TakeOption(options, key, value);
  ModelOptions own;
  for (const auto& [key, value] : model.config.document["parameters"].members()) TakeOption(own, key, value["string_value"].String(""));
  TakeOver(options, own);
  TakeEnvironment(options);

  const kit::Options read(model.config, settings);
  if (const auto ids = read.Text("device_ids"); ids.has_value()) options.device_ids = ReadDeviceIds(*ids);
  options.device_exec_blocks = static_cast<int>(read.Integer("device_exec_blocks", 1, kMostStreams).value_or(0));
  options.instance_exec_blocks = static_cast<int>(read.Integer("instance_exec_blocks", 1, kMostStreams).value_or(1));
  options.is_static = read.Boolean("static_model").value_or(false);
  options.execution_timeout = std::chrono::milliseconds(read.Integer("execution_timeout_ms", 1, 86'400'000).value_or(options.execution_timeout.count()));
  options.load_timeout = std::chrono::milliseconds(read.Integer("load_timeout_ms", 1, 86'400'000).value_or(options.load_timeout.count()));
  TakeSwitches(options, read, model, work_directory);

  if (options.Effective("ge.exec.precision_mode").has_value() && options.Effective("ge.exec.precision_mode_v2").has_value()) {
    throw InvalidArgument("ge.exec.precision_mode and ge.exec.precision_mode_v2 exclude each other, at whichever levels they stand: remove one of them");
  }
  const bool has_shape = options.Effective("ge.inputShape").has_value();
  if (options.has_gears() != has_shape) {
    throw InvalidArgument(has_shape ? "ge.inputShape acts only together with gears: give ge.dynamicDims too, such as \"1;2;4;8\""
                                    : "ge.dynamicDims names gears, and ge.inputShape has to say which dimensions they stand for, such as \"x:-1,3,224,224\"");
  }
  if (has_shape && !options.Effective("ge.dynamicNodeType").has_value()) {
    (options.graph.contains("ge.dynamicDims") ? options.graph : options.session)["ge.dynamicNodeType"] = "1";
  }
  const bool is_dynamic = !options.is_static && !options.has_gears();
  const std::string sessions = read.Text("sessions").value_or(is_dynamic ? "stream" : "card");
  if (sessions != "stream" && sessions != "card") throw InvalidArgument("sessions is \"stream\" or \"card\", not \"" + sessions + "\"");
  options.session_per_stream = sessions == "stream";
  return options;
}

void CheckModelOptions(const ModelOptions& options, const kit::ModelConfig& config) {
  if (!options.is_static) return;
  if (options.has_gears()) {
    throw InvalidArgument("static_model compiles one shape, and ge.dynamicDims several: remove static_model, a graph with gears is a static one for each of them");
  }
  if (config.has_dynamic_batching) {
    throw InvalidArgument("static_model has one fixed batch, so it excludes dynamic_batching: remove one of them, or use gears (graph.ge.dynamicDims)");
  }
  if (config.is_batching()) {
    throw InvalidArgument("static_model wants full shapes: leave max_batch_size out (it is " + std::to_string(config.max_batch_size) +
                          ") and write the first dimension into dims, such as dims: [ 1, 3, 224, 224 ]");
  }
  for (const kit::TensorConfig& input : config.inputs) {
    for (const std::int64_t dim : input.model_dims()) {
      if (dim < 0) {
        throw InvalidArgument("static_model has no variable dimensions, and input '" + input.name + "' is " + kit::ShapeText(input.model_dims()) +
                              ": write every dimension into dims");
      }
    }
  }
}

int BlocksPerDevice(const ModelOptions& options, const kit::ModelConfig& config, std::size_t device_count) {
  if (options.device_exec_blocks > 0) return options.device_exec_blocks;
  std::int64_t anywhere = 0, on_each = 0, bound = 0;
  std::map<std::int64_t, std::int64_t> on_card;
  for (const kit::InstanceGroupConfig& group : config.instance_groups) {
    const std::int64_t count = std::max<std::int64_t>(1, group.count);
    // A group of KIND_GPU makes `count` instances on each of its cards.
    if (group.kind != "KIND_GPU") {
      anywhere += count;
    } else if (group.device_ids.empty()) {
      on_each += count;
    } else {
      for (const std::int64_t id : group.device_ids) bound = std::max(bound, on_card[id] += count);
    }
  }
  const auto devices = static_cast<std::int64_t>(std::max<std::size_t>(1, device_count));
  const std::int64_t blocks = (anywhere * options.instance_exec_blocks + devices - 1) / devices + (on_each + bound) * options.instance_exec_blocks;
  return static_cast<int>(std::clamp<std::int64_t>(blocks, 1, kMostStreams));
}

}  // namespace npu_console::npu_ge
