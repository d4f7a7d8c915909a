#include "core/telemetry.h"

namespace simulator {

Reading Read(int device) {
  Settings &settings = Settings::Instance();
  const DevicePlace &place = settings.devices()[static_cast<size_t>(device)];
  const Profile &profile = *place.profile;
  const DeviceLoad load = SharedState::Instance().Load(device);
  Reading reading{};
  reading.device = device;
  reading.place = &place;
  reading.isLost = settings.HasWholeFault(FaultKind::CardLost, device);
  reading.health = settings.HasFault(FaultKind::CardLost, device) || settings.HasFault(FaultKind::Ecc, device) || settings.HasFault(FaultKind::Hang, device) ? 3 : 0;
  reading.cubePercent = load.cube * 100;
  reading.vectorPercent = load.vector * 100;
  reading.bandwidthPercent = load.bandwidth * 100;
  reading.watts = profile.idleWatts + (profile.maxWatts - profile.idleWatts) * (0.8 * load.cube + 0.2 * load.bandwidth);
  reading.celsius = profile.idleCelsius + (profile.maxCelsius - profile.idleCelsius) * load.heat;
  reading.memoryMegabytes = SharedState::Instance().MemoryInUse(device) >> 20;
  reading.processes = SharedState::Instance().Processes(device);
  return reading;
}

int LogicId(int card, int chip) {
  const auto &devices = Settings::Instance().devices();
  for (size_t device = 0; device < devices.size(); device++) {
    if (devices[device].card == card && devices[device].chip == chip) return static_cast<int>(device);
  }
  return -1;
}

int CardCount() {
  const auto &devices = Settings::Instance().devices();
  return devices.empty() ? 0 : devices.back().card + 1;
}

int BusOf(int device) { return 1 + device * 0x20 % 0xE0 + device / 7; }

std::string ProcessName(pid_t pid) {
  std::string name;
  if (!ReadWholeFile("/proc/" + std::to_string(pid) + "/comm", name)) return std::to_string(pid);
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

}  // namespace simulator
