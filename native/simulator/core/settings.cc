#include "core/settings.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace simulator {

namespace {

std::string WithoutAscend(const std::string &soc) { return soc.rfind("Ascend", 0) == 0 ? soc.substr(6) : soc; }

/** Differs whenever the file was written again; 0 when it is not there. */
uint64_t FileVersion(const std::string &path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return 0;
  const uint64_t time = static_cast<uint64_t>(info.st_mtim.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(info.st_mtim.tv_nsec);
  return time ^ (static_cast<uint64_t>(info.st_size) << 1) ^ (static_cast<uint64_t>(info.st_ino) << 32);
}

/** Whether the fault holds back once more. */
bool LetsPass(Fault &fault) {
  if (fault.after <= 0) return false;
  fault.after--;
  return true;
}

}  // namespace

bool ReadWholeFile(const std::string &path, std::string &content) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return false;
  std::ostringstream buffer;
  buffer << stream.rdbuf();
  content = buffer.str();
  return !stream.bad();
}

std::string InstallDirectory() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void *>(&InstallDirectory), &info) == 0 || info.dli_fname == nullptr) return ".";
  std::error_code error;
  const std::filesystem::path library = std::filesystem::canonical(info.dli_fname, error);
  return (error ? std::filesystem::path(info.dli_fname) : library).parent_path().parent_path().string();
}

Settings &Settings::Instance() {
  // Never destroyed: stream threads may outlive main.
  static Settings *instance = new Settings();
  return *instance;
}

Settings::Settings() {
  const char *path = std::getenv(SETTINGS_VARIABLE);
  path_ = path == nullptr ? "" : path;
  if (!ReadProfiles()) return;
  if (path_.empty()) {
    problem_ = std::string("these are the simulated CANN libraries and ") + SETTINGS_VARIABLE +
               " does not name a settings file: choose simulated cards in the product, or use the real CANN libraries";
    return;
  }
  ReadFile();
}

bool Settings::ReadProfiles() {
  const std::string path = InstallDirectory() + "/profiles.json";
  std::string text;
  Json document;
  if (!ReadWholeFile(path, text) || !Json::Parse(text, document, problem_)) {
    problem_ = "the simulated chips cannot be read from " + path + (problem_.empty() ? "" : ": " + problem_);
    return false;
  }
  for (const auto &[name, entry] : document["profiles"].members()) {
    Profile profile;
    profile.name = name;
    profile.soc = entry["soc"].String("");
    profile.smiName = entry["smiName"].String(WithoutAscend(profile.soc));
    profile.product = entry["product"].String(name);
    const std::string layout = entry["layout"].String("910");
    profile.layout = layout == "310P" ? SmiLayout::Chip310P : layout == "950" ? SmiLayout::Card950 : SmiLayout::Chip910;
    profile.showsPhyId = entry["showsPhyId"].Boolean(false);
    profile.hasOnlineGe = entry["onlineGe"].Boolean(true);
    profile.hasHbm = entry["memoryKind"].String("HBM") == "HBM";
    profile.chipsPerCard = static_cast<int>(entry["chipsPerCard"].Number(1));
    profile.cubeCores = static_cast<int>(entry["cubeCores"].Number(1));
    profile.vectorCores = static_cast<int>(entry["vectorCores"].Number(0));
    profile.memoryMegabytes = static_cast<uint64_t>(entry["memoryMegabytes"].Number(0));
    profile.idleMemoryMegabytes = static_cast<uint64_t>(entry["idleMemoryMegabytes"].Number(0));
    profile.l2Megabytes = static_cast<uint64_t>(entry["l2Megabytes"].Number(0));
    profile.maxStreams = static_cast<uint32_t>(entry["maxStreams"].Number(1024));
    profile.npuArch = static_cast<int>(entry["npuArch"].Number(0));
    profile.idleWatts = entry["idleWatts"].Number(0);
    profile.maxWatts = entry["maxWatts"].Number(0);
    profile.idleCelsius = entry["idleCelsius"].Number(40);
    profile.maxCelsius = entry["maxCelsius"].Number(80);
    profile.megahertz = static_cast<int>(entry["megahertz"].Number(1000));
    profile.macsPerCoreMicrosecond = entry["macsPerCoreMicrosecond"].Number(1e6);
    profile.bytesPerMicrosecond = entry["bytesPerMicrosecond"].Number(1e5);
    profiles_.emplace(name, std::move(profile));
  }
  return true;
}

void Settings::ReadFile() {
  std::string text;
  Json document;
  std::string error;
  fileVersion_ = FileVersion(path_);
  if (!ReadWholeFile(path_, text)) {
    problem_ = "the settings of the simulated cards cannot be read: " + path_;
    return;
  }
  if (!Json::Parse(text, document, error) || !document.IsObject()) {
    problem_ = "the settings of the simulated cards (" + path_ + ") are no JSON object" + (error.empty() ? "" : ": " + error);
    return;
  }
  stubMode_ = document["stubMode"].Boolean(false);
  timeScale_ = document["timeScale"].Number(1);
  if (timeScale_ < 0) timeScale_ = 0;
  heartbeatMilliseconds_ = static_cast<int64_t>(document["heartbeatMilliseconds"].Number(3000));
  onnxRuntimePath_ = document["onnxruntime"].String(InstallDirectory() + "/lib64/libonnxruntime.so.1");
  stateDirectory_ = document["stateDirectory"].String(std::filesystem::path(path_).parent_path().string());
  int card = 0;
  for (const Json &entry : document["cards"].items()) {
    const std::string name = entry["profile"].String("");
    const auto found = profiles_.find(name);
    if (found == profiles_.end()) {
      std::string known;
      for (const auto &[key, profile] : profiles_) known += (known.empty() ? "" : ", ") + key;
      problem_ = "the settings of the simulated cards (" + path_ + ") name the unknown profile '" + name + "': use one of " + known;
      return;
    }
    for (int chip = 0; chip < found->second.chipsPerCard; chip++) devices_.push_back({&found->second, card, chip});
    card++;
  }
  if (!ParseFaults(document, problem_)) faults_.clear();
}

bool Settings::ParseFaults(const Json &document, std::string &problem) {
  std::vector<Fault> faults;
  for (const Json &entry : document["faults"].items()) {
    Fault fault{};
    if (!ParseFault(entry, fault, problem)) {
      problem += " (" + path_ + ")";
      return false;
    }
    faults.push_back(fault);
  }
  faults_ = std::move(faults);
  return true;
}

void Settings::RefreshFaults() {
  const uint64_t version = FileVersion(path_);
  if (version == fileVersion_ || version == 0) return;
  std::string text;
  Json document;
  std::string error;
  // A file that is being written is looked at again the next time; the faults that held so far go on.
  if (!ReadWholeFile(path_, text) || !Json::Parse(text, document, error) || !ParseFaults(document, error)) return;
  fileVersion_ = version;
}

template <typename Predicate>
Fault *Settings::Find(int device, Predicate fits) {
  RefreshFaults();
  for (Fault &fault : faults_) {
    if ((fault.device == -1 || fault.device == device) && fits(fault)) return &fault;
  }
  return nullptr;
}

bool Settings::HasFault(FaultKind kind, int device) {
  const std::lock_guard lock(mutex_);
  return Find(device, [&](const Fault &fault) { return fault.kind == kind && fault.count != 0; }) != nullptr;
}

bool Settings::HasWholeFault(FaultKind kind, int device) {
  const std::lock_guard lock(mutex_);
  return Find(device, [&](const Fault &fault) { return fault.kind == kind && fault.count != 0 && !fault.phase.has_value(); }) != nullptr;
}

std::optional<Fault> Settings::Strike(FaultPoint point, bool isTask, int device) {
  const std::lock_guard lock(mutex_);
  Fault *fault = Find(device, [&](Fault &candidate) { return candidate.count != 0 && candidate.Strikes(point, isTask) && !LetsPass(candidate); });
  if (fault == nullptr) return std::nullopt;
  if (fault->count > 0 && fault->kind != FaultKind::Hang) fault->count--;
  return *fault;
}

std::optional<Fault> Settings::StrikeLink(FaultPoint point, int device) {
  const std::lock_guard lock(mutex_);
  Fault *fault = Find(device, [&](Fault &candidate) {
    return candidate.kind == FaultKind::CardLost && candidate.count != 0 && candidate.Strikes(point, false) && !LetsPass(candidate);
  });
  if (fault == nullptr) return std::nullopt;
  if (fault->count > 0) fault->count--;
  return *fault;
}

bool Settings::StillHangs(FaultPoint point, bool isTask, int device) {
  const std::lock_guard lock(mutex_);
  return Find(device, [&](const Fault &fault) { return fault.kind == FaultKind::Hang && fault.Strikes(point, isTask); }) != nullptr;
}

const Profile *Settings::FindSoc(const std::string &soc) const {
  for (const auto &[name, profile] : profiles_) {
    if (profile.soc == soc || WithoutAscend(profile.soc) == WithoutAscend(soc)) return &profile;
  }
  return nullptr;
}

}  // namespace simulator

/** By this name the product tells that CANN is simulated. */
extern "C" __attribute__((visibility("default"))) const int npu_console_simulated_cann = 1;
