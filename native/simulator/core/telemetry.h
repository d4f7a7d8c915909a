// What a simulated chip says about itself; follows the load of all processes that use it.
#pragma once

#include <string>
#include <vector>

#include "core/settings.h"
#include "core/shared_state.h"

namespace simulator {

struct Reading {
  int device;
  const DevicePlace *place;
  bool isLost;
  /** 0 in order, 1 minor, 2 major, 3 critical. */
  unsigned health;
  double cubePercent;
  double vectorPercent;
  double bandwidthPercent;
  double watts;
  double celsius;
  uint64_t memoryMegabytes;
  std::vector<ProcessUse> processes;
};

/** Of the chip with this logical id. */
Reading Read(int device);
/** The logical id of a chip of a card; -1: there is none. */
int LogicId(int card, int chip);
int CardCount();
/** 0000:01:00.0 and so on, one bus per chip. */
int BusOf(int device);
/** The name of a process, or its number where it cannot be read. */
std::string ProcessName(pid_t pid);

constexpr char DRIVER_VERSION[] = "26.0.sim";

}  // namespace simulator
