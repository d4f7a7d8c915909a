// The runtime's streams and events, and the limits of cores that streams and devices have.
#include <algorithm>

#include "core/errors.h"
#include "core/runtime.h"
#include "core/shared_state.h"
#include "core/thread_state.h"

namespace simulator {

// --- streams and events

aclError Runtime::CreateStream(Handle &stream) {
  Handle context = 0;
  if (const aclError code = CurrentContext(context); code != ACL_SUCCESS) return code;
  const std::lock_guard lock(mutex_);
  const auto found = contexts_.find(context);
  if (found == contexts_.end()) return Fail(ACL_ERROR_RT_CONTEXT_NULL, "the context of this thread is gone");
  Device &device = *found->second.device;
  if (device.streamCount >= device.profile.maxStreams) {
    return Fail(ACL_ERROR_RT_NO_STREAM_RESOURCE, Id(device.id) + " has no more than " + std::to_string(device.profile.maxStreams) + " streams");
  }
  device.streamCount++;
  std::shared_ptr<Stream> made = NewStream(context, device);
  stream = made->handle();
  streams_.emplace(stream, std::move(made));
  return ACL_SUCCESS;
}

aclError Runtime::FindStream(Handle handle, std::shared_ptr<Stream> &stream) {
  Handle context = 0;
  if (const aclError code = CurrentContext(context); code != ACL_SUCCESS) return code;
  const std::lock_guard lock(mutex_);
  if (handle == 0) {
    const auto found = contexts_.find(context);
    if (found == contexts_.end()) return Fail(ACL_ERROR_RT_CONTEXT_NULL, "the context of this thread is gone");
    stream = found->second.defaultStream;
    return ACL_SUCCESS;
  }
  const auto found = streams_.find(handle);
  if (found == streams_.end()) return Fail(ACL_ERROR_RT_INVALID_HANDLE, "there is no such stream");
  if (found->second->context() != context) return Fail(ACL_ERROR_RT_STREAM_CONTEXT, "the stream is not in the current context of this thread");
  stream = found->second;
  return ACL_SUCCESS;
}

aclError Runtime::DestroyStream(Handle handle, bool force) {
  if (handle == 0) return Fail(ACL_ERROR_RT_PARAM_INVALID, "the stream is null");
  std::shared_ptr<Stream> stream;
  if (const aclError code = FindStream(handle, stream); code != ACL_SUCCESS) return code;
  {
    const std::lock_guard lock(mutex_);
    if (streams_.erase(handle) == 0) return Fail(ACL_ERROR_RT_INVALID_HANDLE, "there is no such stream");
    if (Device *device = FindDevice(stream->device()); device != nullptr && device->streamCount > 0) device->streamCount--;
  }
  stream->Stop(force);
  return ACL_SUCCESS;
}

aclError Runtime::AwaitStream(Stream &stream, const Device &device, int64_t milliseconds) {
  constexpr int64_t SLICE_MILLISECONDS = 20;
  const uint64_t start = NowNanoseconds();
  Heartbeat heartbeat(device);
  while (true) {
    const int64_t left = milliseconds - static_cast<int64_t>((NowNanoseconds() - start) / 1'000'000);
    if (milliseconds >= 0 && left < 0) {
      return Fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "the stream was not done within " + std::to_string(milliseconds) + " ms");
    }
    TaskResult result;
    if (stream.Synchronize(milliseconds < 0 ? SLICE_MILLISECONDS : std::min(left, SLICE_MILLISECONDS), result)) {
      return result.code == ACL_SUCCESS ? ACL_SUCCESS : Fail(result.code, result.text);
    }
    if (milliseconds < 0 && heartbeat.IsLost()) {
      const TaskResult lost = FaultResult(FaultKind::Hang, FaultPoint::Sync, Id(device.id));
      return Fail(lost.code, lost.text);
    }
  }
}

aclError Runtime::SynchronizeStream(Handle handle, int64_t milliseconds) {
  std::shared_ptr<Stream> stream;
  if (const aclError code = FindStream(handle, stream); code != ACL_SUCCESS) return code;
  const Device &device = *FindDevice(stream->device());
  if (const aclError code = CallFault(device, FaultPoint::Sync); code != ACL_SUCCESS) return code;
  return AwaitStream(*stream, device, milliseconds);
}

aclError Runtime::SynchronizeDevice() {
  Device *device = nullptr;
  if (const aclError code = CurrentDevice(device); code != ACL_SUCCESS) return code;
  if (const aclError code = CallFault(*device, FaultPoint::Sync); code != ACL_SUCCESS) return code;
  std::vector<std::shared_ptr<Stream>> streams;
  {
    const std::lock_guard lock(mutex_);
    for (const auto &[handle, stream] : streams_) {
      if (stream->device() == device->id) streams.push_back(stream);
    }
    for (const auto &[handle, context] : contexts_) {
      if (context.device == device) streams.push_back(context.defaultStream);
    }
  }
  aclError first = ACL_SUCCESS;
  for (const auto &stream : streams) {
    const aclError code = AwaitStream(*stream, *device, -1);
    if (first == ACL_SUCCESS) first = code;
  }
  return first;
}

aclError Runtime::SynchronizeEvent(Handle handle) {
  std::shared_ptr<Event> event;
  if (const aclError code = FindEvent(handle, event); code != ACL_SUCCESS) return code;
  Device *device = nullptr;
  if (const aclError code = CurrentDevice(device); code != ACL_SUCCESS) return code;
  if (const aclError code = CallFault(*device, FaultPoint::Sync); code != ACL_SUCCESS) return code;
  Heartbeat heartbeat(*device);
  if (event->Wait(event->requested(), [&] { return heartbeat.IsLost(); })) return ACL_SUCCESS;
  const TaskResult lost = FaultResult(FaultKind::Hang, FaultPoint::Sync, Id(device->id));
  return Fail(lost.code, lost.text);
}

aclError Runtime::StreamsLeft(uint32_t &count) {
  Device *device = nullptr;
  if (const aclError code = CurrentDevice(device); code != ACL_SUCCESS) return code;
  const std::lock_guard lock(mutex_);
  count = device->profile.maxStreams - device->streamCount;
  return ACL_SUCCESS;
}

aclError Runtime::CreateEvent(Handle &event) {
  Handle context = 0;
  if (const aclError code = CurrentContext(context); code != ACL_SUCCESS) return code;
  const std::lock_guard lock(mutex_);
  event = NextHandle();
  events_.emplace(event, std::make_shared<Event>());
  return ACL_SUCCESS;
}

aclError Runtime::DestroyEvent(Handle event) {
  const std::lock_guard lock(mutex_);
  return events_.erase(event) > 0 ? ACL_SUCCESS : Fail(ACL_ERROR_RT_INVALID_HANDLE, "there is no such event");
}

aclError Runtime::FindEvent(Handle handle, std::shared_ptr<Event> &event) {
  const std::lock_guard lock(mutex_);
  const auto found = events_.find(handle);
  if (found == events_.end()) return Fail(ACL_ERROR_RT_INVALID_HANDLE, "there is no such event");
  event = found->second;
  return ACL_SUCCESS;
}

// --- core limits

aclError Runtime::SetLimit(Device &device, aclrtDevResLimitType type, uint32_t value) {
  const auto available = static_cast<uint32_t>(type == ACL_RT_DEV_RES_CUBE_CORE ? device.profile.cubeCores : device.profile.vectorCores);
  if (value == 0 || value > available) {
    return Fail(ACL_ERROR_RT_PARAM_INVALID, "a limit of " + std::to_string(value) + " cores: " + Id(device.id) + " has " + std::to_string(available));
  }
  const std::lock_guard lock(mutex_);
  (type == ACL_RT_DEV_RES_CUBE_CORE ? device.cubeLimit : device.vectorLimit) = value;
  return ACL_SUCCESS;
}

aclError Runtime::SetStreamLimit(Stream &stream, aclrtDevResLimitType type, uint32_t value) {
  const Device *device = FindDevice(stream.device());
  const auto available = static_cast<uint32_t>(type == ACL_RT_DEV_RES_CUBE_CORE ? device->profile.cubeCores : device->profile.vectorCores);
  if (value == 0 || value > available) {
    return Fail(ACL_ERROR_RT_PARAM_INVALID, "a limit of " + std::to_string(value) + " cores: " + Id(device->id) + " has " + std::to_string(available));
  }
  const std::lock_guard lock(mutex_);
  (type == ACL_RT_DEV_RES_CUBE_CORE ? stream.cubeLimit : stream.vectorLimit) = value;
  return ACL_SUCCESS;
}

void Runtime::ClearLimits(Device &device) {
  const std::lock_guard lock(mutex_);
  device.cubeLimit = 0;
  device.vectorLimit = 0;
}

void Runtime::ClearLimits(Stream &stream) {
  const std::lock_guard lock(mutex_);
  stream.cubeLimit = 0;
  stream.vectorLimit = 0;
}

CoreShare Runtime::SharesOf(const Device &device, const Stream *stream) {
  const std::lock_guard lock(mutex_);
  const auto pick = [](uint32_t ofStream, uint32_t ofProcess, int all) {
    return ofStream > 0 ? static_cast<int>(ofStream) : ofProcess > 0 ? static_cast<int>(ofProcess) : all;
  };
  return {pick(stream == nullptr ? 0 : stream->cubeLimit, device.cubeLimit, device.profile.cubeCores),
          pick(stream == nullptr ? 0 : stream->vectorLimit, device.vectorLimit, device.profile.vectorCores)};
}

aclError Runtime::UseStreamLimits(Handle handle, bool use) {
  std::shared_ptr<Stream> stream;
  if (const aclError code = FindStream(handle, stream); code != ACL_SUCCESS) return code;
  Thread().limitStream = use ? stream->handle() : 0;
  return ACL_SUCCESS;
}

std::shared_ptr<Stream> Runtime::LimitStream() {
  const std::lock_guard lock(mutex_);
  const Handle handle = Thread().limitStream;
  if (handle == 0) return nullptr;
  const auto found = streams_.find(handle);
  if (found != streams_.end()) return found->second;
  for (const auto &[key, context] : contexts_) {
    if (context.defaultStream->handle() == handle) return context.defaultStream;
  }
  return nullptr;
}

}  // namespace simulator
