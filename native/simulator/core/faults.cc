#include "core/faults.h"

#include <map>

#include "acl/acl_mdl.h"

namespace simulator {

namespace {

const std::map<std::string, FaultKind> KINDS = {
    {"out-of-memory", FaultKind::OutOfMemory}, {"card-lost", FaultKind::CardLost},     {"ecc", FaultKind::Ecc},
    {"task-timeout", FaultKind::TaskTimeout},  {"hang", FaultKind::Hang},              {"permission", FaultKind::Permission},
    {"operator-exception", FaultKind::OperatorException},
};

const std::map<std::string, Phase> PHASES = {
    {"load", Phase::Load}, {"copy-in", Phase::CopyIn}, {"run", Phase::Run}, {"copy-out", Phase::CopyOut}, {"sync", Phase::Sync},
};

std::optional<Phase> PhaseOf(FaultPoint point) {
  switch (point) {
    case FaultPoint::Open: case FaultPoint::Memory: case FaultPoint::Load: return Phase::Load;
    case FaultPoint::CopyIn: return Phase::CopyIn;
    case FaultPoint::Run: return Phase::Run;
    case FaultPoint::CopyOut: return Phase::CopyOut;
    case FaultPoint::Sync: return Phase::Sync;
    case FaultPoint::CopyInside: break;
  }
  return std::nullopt;
}

bool IsCopy(FaultPoint point) { return point == FaultPoint::CopyIn || point == FaultPoint::CopyInside || point == FaultPoint::CopyOut; }

template <typename Value>
std::string Words(const std::map<std::string, Value> &table) {
  std::string words;
  for (const auto &[word, value] : table) words += (words.empty() ? "" : ", ") + word;
  return words;
}

}  // namespace

bool Fault::Strikes(FaultPoint point, bool isTask) const {
  // Opening a device and taking its memory run no operators.
  const bool needsOperators = kind == FaultKind::TaskTimeout || kind == FaultKind::OperatorException;
  if (point == FaultPoint::Open && (needsOperators || kind == FaultKind::Ecc || kind == FaultKind::OutOfMemory)) return false;
  if (point == FaultPoint::Memory && needsOperators) return false;
  if (phase.has_value()) return PhaseOf(point) == phase;
  switch (kind) {
    case FaultKind::CardLost: return true;
    case FaultKind::Permission: return point == FaultPoint::Open;
    case FaultKind::OutOfMemory: return point == FaultPoint::Memory || point == FaultPoint::Load;
    case FaultKind::Hang: return point != FaultPoint::Sync;
    case FaultKind::Ecc: case FaultKind::TaskTimeout: case FaultKind::OperatorException: return isTask;
  }
  return false;
}

bool ParseFault(const Json &entry, Fault &fault, std::string &problem) {
  const std::string kindWord = entry["kind"].String("");
  const auto kind = KINDS.find(kindWord);
  if (kind == KINDS.end()) {
    problem = "unknown fault '" + kindWord + "': use one of " + Words(KINDS);
    return false;
  }
  fault.kind = kind->second;
  fault.device = static_cast<int>(entry["device"].Number(-1));
  fault.count = static_cast<int64_t>(entry["count"].Number(-1));
  fault.after = static_cast<int64_t>(entry["after"].Number(0));
  fault.needsReset = entry["needsReset"].Boolean(false);
  const std::string phaseWord = entry["phase"].String("");
  if (phaseWord.empty()) return true;
  const auto phase = PHASES.find(phaseWord);
  if (phase == PHASES.end()) {
    problem = "unknown phase '" + phaseWord + "' of the fault '" + kindWord + "': use one of " + Words(PHASES) + ", or leave it out";
    return false;
  }
  fault.phase = phase->second;
  return true;
}

TaskResult FaultResult(FaultKind kind, FaultPoint point, const std::string &device) {
  switch (kind) {
    case FaultKind::CardLost:
      if (point == FaultPoint::Open) break;
      return {ACL_ERROR_RT_SOCKET_CLOSE, "the link to " + device + " is gone"};
    case FaultKind::Permission:
      if (point == FaultPoint::Open) break;
      return {ACL_ERROR_RT_NO_PERMISSION, "this user may not use " + device};
    case FaultKind::Hang:
      if (point == FaultPoint::Open) break;
      return {ACL_ERROR_RT_LOST_HEARTBEAT, device + " does not answer any more: its heartbeat is lost"};
    case FaultKind::OutOfMemory:
      if (point == FaultPoint::Memory) return {ACL_ERROR_RT_MEMORY_ALLOCATION, "out of device memory on " + device};
      if (point == FaultPoint::Load) return {ACL_ERROR_GE_MEMORY_ALLOCATION, "the model does not fit into the memory of " + device};
      return {ACL_ERROR_RT_DEVICE_OOM, "out of device memory for the work on " + device};
    case FaultKind::Ecc: return {ACL_ERROR_RT_HBM_MULTI_BIT_ECC_ERROR, "a memory error of several bits on " + device};
    case FaultKind::TaskTimeout:
      if (point == FaultPoint::Load) return {ACL_ERROR_RT_TIMEOUT, "the driver took too long to load a model on " + device};
      if (IsCopy(point)) return {ACL_ERROR_RT_TASK_TIMEOUT, "a copy took too long on " + device};
      if (point == FaultPoint::Sync) return {ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "a stream was not done in time on " + device};
      return {ACL_ERROR_RT_AICORE_TIMEOUT, "an operator took too long on " + device};
    case FaultKind::OperatorException:
      if (point == FaultPoint::Load) return {ACL_ERROR_GE_LOAD_MODEL, "the model could not be set up on " + device};
      if (IsCopy(point)) return {ACL_ERROR_RT_SYS_DMA, "a copy failed on " + device};
      return {ACL_ERROR_RT_AICORE_EXCEPTION, "an operator failed on " + device};
  }
  return {ACL_ERROR_RT_DEV_SETUP_ERROR, device + " could not be started: in use elsewhere, lost, hanging, or this user may not open it"};
}

}  // namespace simulator
