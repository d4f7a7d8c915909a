#include "ascend/ge_engine.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "ascend/supervised.h"

namespace npu_console::ascend {

namespace {

constexpr auto START_LIMIT = std::chrono::minutes(5);
constexpr auto STOP_LIMIT = std::chrono::seconds(15);
constexpr std::string_view ENVIRONMENT = "env:";

/** Without those that are environment variables. */
GeOptionMap OptionsOfGe(const GeOptionMap& all) {
  GeOptionMap options;
  for (const auto& [key, value] : all) {
    if (!key.starts_with(ENVIRONMENT)) options.emplace(key, value);
  }
  return options;
}

std::string Shown(const std::string& key) { return key.starts_with(ENVIRONMENT) ? key.substr(ENVIRONMENT.size()) : key; }

}  // namespace

GeEngine& GeEngine::Instance() {
  static auto& engine = *new GeEngine();
  return engine;
}

GeEngine::Lease::~Lease() { engine_.Leave(*this); }

std::string GeEngine::Users() const {
  std::string names;
  for (const Lease* lease : leases_) names += (names.empty() ? "'" : ", '") + lease->user() + "'";
  return names;
}

std::shared_ptr<GeEngine::Lease> GeEngine::Start(const GeLibrary& library, const std::string& user, const GeOptionMap& options, const std::string& work_directory) {
  const std::lock_guard lock(mutex_);
  if (running_ != nullptr && leases_.empty() && options != options_) StopLocked();
  if (running_ == nullptr) {
    library.acl.Initialize();
    SetEnvironment(options);
    // On a thread of its own, from which GE's own threads inherit the directory.
    const auto problem = std::make_shared<std::string>();
    try {
      RunSupervised("starting the graph engine (GEInitialize)", START_LIMIT, [&library, given = OptionsOfGe(options), work_directory, problem] {
        *problem = EnterPrivateDirectory(work_directory);
        const GeOptionList list(given);
        if (const uint32_t status = library.bridge.initialize(list.get()); status != 0) throw library.Failure("starting the graph engine (GEInitialize)", status);
      });
    } catch (...) {
      RestoreEnvironment();
      throw;
    }
    running_ = &library;
    options_ = options;
    directory_problem_ = *problem;
  }
  for (const auto& [key, value] : options) {
    const auto found = options_.find(key);
    if (found != options_.end() && found->second == value) continue;
    const std::string way = key.starts_with(ENVIRONMENT)
                                ? "GE reads it when it starts. Set dump_graph or profiling, which it comes from, for all models on the command line, or unload those models first"
                                : "give all models the same value (on the command line, --backend-config=npu_ge," + key + "=...), unload those models first, or set the option for "
                                  "the session alone (session." + key + ") where it may stand there";
    throw Error(ErrorKind::InvalidArgument, "'" + Shown(key) + "' acts on the whole process, and the graph engine runs already for " + Users() +
                                                (found == options_.end() ? " without it" : " with \"" + found->second + "\", not \"" + value + "\"") + ": " + way);
  }
  auto lease = std::make_shared<Lease>(*this, user, options);
  leases_.push_back(lease.get());
  return lease;
}

std::vector<std::string> GeEngine::ForeignOptions(const Lease& lease) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> sentences;
  for (const auto& [key, value] : options_) {
    if (!lease.options().contains(key)) sentences.push_back(Shown(key) + " = " + value + " acts here too: another model set it for the whole process");
  }
  return sentences;
}

std::string GeEngine::DirectoryProblem() {
  const std::lock_guard lock(mutex_);
  return directory_problem_;
}

void GeEngine::Leave(const Lease& lease) {
  const std::lock_guard lock(mutex_);
  leases_.erase(std::remove(leases_.begin(), leases_.end(), &lease), leases_.end());
}

void GeEngine::Stop() {
  const std::lock_guard lock(mutex_);
  if (leases_.empty()) StopLocked();
}

void GeEngine::StopLocked() {
  if (running_ == nullptr) return;
  const GeLibrary& library = *std::exchange(running_, nullptr);
  RestoreEnvironment();
  options_.clear();
  RunSupervised("ending the graph engine (GEFinalize)", STOP_LIMIT, [&library] {
    if (const uint32_t status = library.bridge.finalize(); status != 0) throw library.Failure("ending the graph engine (GEFinalize)", status);
  });
}

void GeEngine::SetEnvironment(const GeOptionMap& options) {
  for (const auto& [key, value] : options) {
    if (!key.starts_with(ENVIRONMENT)) continue;
    const std::string name = Shown(key);
    const char* const former = std::getenv(name.c_str());
    former_environment_.emplace(name, former == nullptr ? std::nullopt : std::optional<std::string>(former));
    setenv(name.c_str(), value.c_str(), 1);
  }
}

void GeEngine::RestoreEnvironment() {
  for (const auto& [name, value] : std::exchange(former_environment_, {})) {
    if (value.has_value()) {
      setenv(name.c_str(), value->c_str(), 1);
    } else {
      unsetenv(name.c_str());
    }
  }
}

}  // namespace npu_console::ascend
