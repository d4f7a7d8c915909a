// How simulated cards misbehave: which kinds of fault there are, at which point of the work each strikes, and what CANN's code for it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/stream.h"
#include "shared/json.h"

namespace simulator {

using npu_console::Json;

enum class FaultKind { OutOfMemory, CardLost, Ecc, TaskTimeout, Hang, Permission, OperatorException };

/** The part of a model's life that a fault may be limited to. */
enum class Phase { Load, CopyIn, Run, CopyOut, Sync };

/** A place in the simulated libraries where a fault may strike. */
enum class FaultPoint {
  /** A device is opened: aclrtSetDevice. Phase load. */
  Open,
  /** Device memory is asked for. Phase load. */
  Memory,
  /** A model or a graph is put on the device. Phase load. */
  Load,
  CopyIn,
  /** From device memory to device memory: no phase. */
  CopyInside,
  Run,
  CopyOut,
  /** The host waits for a stream, a device or an event. */
  Sync
};

struct Fault {
  FaultKind kind;
  /** Logical id of the device as the machine counts them; -1: every device. */
  int device = -1;
  /** How often it strikes; -1: always. A hang is not counted: it lasts until it is taken off the list. */
  int64_t count = -1;
  /** How often it lets pass first what it would strike. */
  int64_t after = 0;
  /** Nothing: where faults of the kind strike by themselves, see Strikes. */
  std::optional<Phase> phase;
  /** Whether the card, once struck, answers everything with the same code until it is reset. */
  bool needsReset = false;

  /** Whether the fault strikes there. `isTask`: work of a stream or a run, as against a call that waits for the card. */
  bool Strikes(FaultPoint point, bool isTask) const;
};

/** Reads one entry of the settings' `faults`. @returns false with the reason */
bool ParseFault(const Json &entry, Fault &fault, std::string &problem);

/** CANN's code and a sentence for a fault that struck there. `device` is the name used in texts. A hang's code is that of a lost heartbeat. */
TaskResult FaultResult(FaultKind kind, FaultPoint point, const std::string &device);

}  // namespace simulator
