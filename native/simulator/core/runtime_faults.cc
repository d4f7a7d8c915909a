// How the faults of the settings show in calls and in tasks.
#include <chrono>
#include <thread>

#include "core/errors.h"
#include "core/runtime.h"
#include "core/shared_state.h"
#include "core/thread_state.h"

namespace simulator {

namespace {

constexpr auto HANG_SLICE = std::chrono::milliseconds(5);

uint64_t HeartbeatNanoseconds() { return static_cast<uint64_t>(Settings::Instance().heartbeatMilliseconds()) * 1'000'000; }

TaskResult BrokenResult(const Device &device) {
  const aclError code = device.broken;
  if (code == ACL_SUCCESS) return {};
  return {code, Id(device.id) + " failed before and answers nothing until it is reset"};
}

}  // namespace

bool Runtime::Heartbeat::IsLost() {
  if (!Settings::Instance().HasFault(FaultKind::Hang, device_.logicId)) {
    hangsSince_ = 0;
    return false;
  }
  if (hangsSince_ == 0) hangsSince_ = NowNanoseconds();
  return NowNanoseconds() - hangsSince_ >= HeartbeatNanoseconds();
}

TaskResult Runtime::Struck(const Fault &fault, const Device &device, FaultPoint point) {
  TaskResult result = FaultResult(fault.kind, point, Id(device.id));
  // A device that could not be opened has nothing that could be reset.
  if (fault.needsReset && point != FaultPoint::Open) device.broken = result.code;
  return result;
}

aclError Runtime::RequireLink(const Device &device, FaultPoint point) {
  if (const TaskResult broken = BrokenResult(device); broken.code != ACL_SUCCESS && point != FaultPoint::Open) return Fail(broken.code, broken.text);
  const std::optional<Fault> fault = Settings::Instance().StrikeLink(point, device.logicId);
  if (!fault.has_value()) return ACL_SUCCESS;
  const TaskResult result = Struck(*fault, device, point);
  return Fail(result.code, result.text);
}

TaskResult Runtime::FaultOfCall(const Device &device, FaultPoint point) {
  Settings &settings = Settings::Instance();
  // A device that has to be reset can still be set: a thread that resets it does that first.
  if (TaskResult broken = BrokenResult(device); broken.code != ACL_SUCCESS && point != FaultPoint::Open) return broken;
  const std::optional<Fault> fault = settings.Strike(point, false, device.logicId);
  if (!fault.has_value()) return {};
  if (fault->kind == FaultKind::Hang) {
    const uint64_t start = NowNanoseconds();
    while (settings.StillHangs(point, false, device.logicId) && NowNanoseconds() - start < HeartbeatNanoseconds()) std::this_thread::sleep_for(HANG_SLICE);
    if (!settings.StillHangs(point, false, device.logicId)) return {};
  }
  return Struck(*fault, device, point);
}

aclError Runtime::CallFault(const Device &device, FaultPoint point) {
  const TaskResult result = FaultOfCall(device, point);
  return result.code == ACL_SUCCESS ? ACL_SUCCESS : Fail(result.code, result.text);
}

TaskResult Runtime::TaskFault(const Device &device, Stream *stream, FaultPoint point) {
  Settings &settings = Settings::Instance();
  if (TaskResult broken = BrokenResult(device); broken.code != ACL_SUCCESS) return broken;
  const std::optional<Fault> fault = settings.Strike(point, true, device.logicId);
  if (!fault.has_value()) return {};
  if (fault->kind != FaultKind::Hang) return Struck(*fault, device, point);
  const uint64_t start = NowNanoseconds();
  while (settings.StillHangs(point, true, device.logicId)) {
    if (stream != nullptr && stream->IsAborting()) return {ACL_ERROR_RT_DEVICE_TASK_ABORT, "the task was broken off"};
    if (stream == nullptr && NowNanoseconds() - start >= HeartbeatNanoseconds()) return Struck(*fault, device, point);
    std::this_thread::sleep_for(HANG_SLICE);
  }
  // What was set meanwhile shows at once.
  return TaskFault(device, stream, point);
}

}  // namespace simulator
