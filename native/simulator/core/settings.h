// What simulated cards there are and how they misbehave. Everything comes from the file named by NPU_SIMULATOR_SETTINGS, which only the
// product and the tests set: without it the simulated libraries refuse to start. Faults are read again whenever the file changes.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

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

enum class FaultKind { OutOfMemory, CardLost, Ecc, TaskTimeout, Hang, Permission, OperatorException };

struct Fault {
  FaultKind kind;
  /** Logical id of the device as the machine counts them; -1: every device. */
  int device = -1;
  /** How often it strikes; -1: always. */
  int64_t count = -1;
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

  /** Whether a fault of this kind lies on the device now; does not count as a strike. */
  bool HasFault(FaultKind kind, int device);
  /** As HasFault, and uses up one strike of a counted fault. */
  bool Strike(FaultKind kind, int device);

 private:
  Settings();
  bool ReadProfiles();
  void ReadFile();
  bool ParseFaults(const class Json &document, std::string &problem);
  /** Reads the faults again when the file changed; call with the lock held. */
  void RefreshFaults();
  Fault *Find(FaultKind kind, int device);

  std::string path_;
  std::string problem_;
  bool stubMode_ = false;
  double timeScale_ = 1;
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
