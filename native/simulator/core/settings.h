// What simulated cards there are and how they misbehave. Everything comes from the file named by NPU_SIMULATOR_SETTINGS, which only the
// product and the tests set: without it the simulated libraries refuse to start. Faults are read again whenever the file changes.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/faults.h"

namespace simulator {

/** The environment variable that names the settings file. */
constexpr const char *SETTINGS_VARIABLE = "NPU_SIMULATOR_SETTINGS";

/** How npu-smi shows a family of chips. */
enum class SmiLayout { Chip310P, Chip910, Card950 };

/** One kind of chip, from profiles.json. */
struct Profile {
  std::string name;
  std::string soc;
  std::string smiName;
  std::string product;
  SmiLayout layout = SmiLayout::Chip910;
  bool showsPhyId = false;
  bool hasOnlineGe = true;
  bool hasHbm = true;
  int chipsPerCard = 1;
  int cubeCores = 0;
  int vectorCores = 0;
  uint64_t memoryMegabytes = 0;
  uint64_t idleMemoryMegabytes = 0;
  uint64_t l2Megabytes = 0;
  uint32_t maxStreams = 0;
  int npuArch = 0;
  double idleWatts = 0;
  double maxWatts = 0;
  double idleCelsius = 0;
  double maxCelsius = 0;
  int megahertz = 0;
  double macsPerCoreMicrosecond = 0;
  double bytesPerMicrosecond = 0;
};

/** A chip of a card, in the order of logical ids. */
struct DevicePlace {
  const Profile *profile;
  int card;
  int chip;
};

class Settings {
 public:
  /** Reads the file named by the environment, once per process. */
  static Settings &Instance();

  /** Empty when all is well; else why no simulated card can be offered. */
  const std::string &problem() const { return problem_; }
  bool stubMode() const { return stubMode_; }
  const std::vector<DevicePlace> &devices() const { return devices_; }
  const std::map<std::string, Profile> &profiles() const { return profiles_; }
  const std::string &onnxRuntimePath() const { return onnxRuntimePath_; }
  const std::string &stateDirectory() const { return stateDirectory_; }
  /** Factor on all modelled times; 0: as fast as this machine computes. */
  double timeScale() const { return timeScale_; }

  /** The chip whose soc name (with or without "Ascend") this is; null when unknown. */
  const Profile *FindSoc(const std::string &soc) const;

  /** After how long a call on a card that hangs gives up. */
  int64_t heartbeatMilliseconds() const { return heartbeatMilliseconds_; }

  /** Whether a fault of this kind lies on the device now, in whatever phase; does not count as a strike. */
  bool HasFault(FaultKind kind, int device);
  /** As HasFault, for faults of all phases only: the card itself shows them. */
  bool HasWholeFault(FaultKind kind, int device);
  /** The first fault of the list that strikes there; uses up one strike of it. */
  std::optional<Fault> Strike(FaultPoint point, bool isTask, int device);
  /** As Strike, for lost cards only. */
  std::optional<Fault> StrikeLink(FaultPoint point, int device);
  /** Whether a hang that struck there goes on: until it is taken off the list. */
  bool StillHangs(FaultPoint point, bool isTask, int device);

 private:
  Settings();
  bool ReadProfiles();
  void ReadFile();
  bool ParseFaults(const Json &document, std::string &problem);
  /** Reads the faults again when the file changed; call with the lock held. */
  void RefreshFaults();
  /** The first fault that lies on the device and that `fits`; null: none. Reads the faults again first. Call with the lock held. */
  template <typename Predicate>
  Fault *Find(int device, Predicate fits);

  std::string path_;
  std::string problem_;
  bool stubMode_ = false;
  double timeScale_ = 1;
  int64_t heartbeatMilliseconds_ = 3000;
  std::string onnxRuntimePath_;
  std::string stateDirectory_;
  std::map<std::string, Profile> profiles_;
  std::vector<DevicePlace> devices_;

  std::mutex mutex_;
  uint64_t fileVersion_ = 0;
  std::vector<Fault> faults_;
};

/** Whole file; false when it cannot be read. */
bool ReadWholeFile(const std::string &path, std::string &content);
/** The folder that holds lib64 and profiles.json: where this very library was loaded from. */
std::string InstallDirectory();

}  // namespace simulator
