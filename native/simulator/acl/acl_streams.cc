// The simulated libacl_rt.so: streams, events, and the memory that work on them copies between. Each function checks its arguments and hands over to the runtime.
#include <algorithm>

#include "acl/acl_rt.h"
#include "acl/calls.h"
#include "core/call_log.h"

using namespace simulator;

namespace {

/** Takes a call that succeeded down, with the device that is current on the thread. */
aclError Noted(const char *name, aclError code, uint64_t stream, size_t bytes = 0) {
  if (code != ACL_SUCCESS || !CallLog::Instance().isOn()) return code;
  Device *device = nullptr;
  Call call{name, Rt().CurrentDevice(device) == ACL_SUCCESS ? device->id : -1, 0, 0, stream, {}};
  if (bytes > 0) call.facts["bytes"] = std::to_string(bytes);
  CallLog::Instance().Add(std::move(call));
  return code;
}

}  // namespace

// --- streams and events

aclError aclrtCreateStream(aclrtStream *stream) { return aclrtCreateStreamWithConfig(stream, 0, 0); }

aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t, uint32_t) {
  return Initialized([&]() -> aclError {
    if (stream == nullptr) return NullArgument("aclrtCreateStream");
    Handle handle = 0;
    const aclError code = Rt().CreateStream(handle);
    if (code == ACL_SUCCESS) *stream = FromHandle(handle);
    return Noted("aclrtCreateStream", code, handle);
  });
}

aclError aclrtDestroyStream(aclrtStream stream) {
  return Initialized([&] { return Noted("aclrtDestroyStream", Rt().DestroyStream(ToHandle(stream), false), ToHandle(stream)); });
}
aclError aclrtDestroyStreamForce(aclrtStream stream) {
  return Initialized([&] { return Noted("aclrtDestroyStream", Rt().DestroyStream(ToHandle(stream), true), ToHandle(stream)); });
}
aclError aclrtSynchronizeStream(aclrtStream stream) { return aclrtSynchronizeStreamWithTimeout(stream, -1); }

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
  return Initialized([&]() -> aclError {
    if (timeout < -1) return Fail(ACL_ERROR_RT_PARAM_INVALID, "a time limit is -1 or not negative");
    return Noted("aclrtSynchronizeStream", Rt().SynchronizeStream(ToHandle(stream), timeout), ToHandle(stream));
  });
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus *status) {
  return Initialized([&]() -> aclError {
    if (status == nullptr) return NullArgument("aclrtStreamQuery");
    std::shared_ptr<Stream> found;
    if (const aclError code = Rt().FindStream(ToHandle(stream), found); code != ACL_SUCCESS) return code;
    *status = found->IsIdle() ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
    return ACL_SUCCESS;
  });
}

aclError aclrtGetStreamAvailableNum(uint32_t *streamCount) {
  return Initialized([&]() -> aclError {
    return streamCount == nullptr ? NullArgument("aclrtGetStreamAvailableNum") : Rt().StreamsLeft(*streamCount);
  });
}

aclError aclrtStreamAbort(aclrtStream stream) {
  return Initialized([&]() -> aclError {
    std::shared_ptr<Stream> found;
    if (const aclError code = Rt().FindStream(ToHandle(stream), found); code != ACL_SUCCESS) return code;
    found->Abort();
    return ACL_SUCCESS;
  });
}

aclError aclrtCreateEvent(aclrtEvent *event) { return aclrtCreateEventWithFlag(event, 0); }

aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t) {
  return Initialized([&]() -> aclError {
    if (event == nullptr) return NullArgument("aclrtCreateEvent");
    Handle handle = 0;
    const aclError code = Rt().CreateEvent(handle);
    if (code == ACL_SUCCESS) *event = FromHandle(handle);
    return code;
  });
}

aclError aclrtDestroyEvent(aclrtEvent event) {
  return Initialized([&] { return Rt().DestroyEvent(ToHandle(event)); });
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  return Initialized([&]() -> aclError {
    std::shared_ptr<Event> found;
    std::shared_ptr<Stream> target;
    if (const aclError code = Rt().FindEvent(ToHandle(event), found); code != ACL_SUCCESS) return code;
    if (const aclError code = Rt().FindStream(ToHandle(stream), target); code != ACL_SUCCESS) return code;
    const uint64_t record = found->Request();
    // Also when the task is dropped, so that nobody waits for ever.
    target->Enqueue({[](Stream &) { return TaskResult(); }, [found, record](const TaskResult &) { found->Complete(record); }});
    return ACL_SUCCESS;
  });
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  return Initialized([&]() -> aclError {
    std::shared_ptr<Event> found;
    std::shared_ptr<Stream> target;
    if (const aclError code = Rt().FindEvent(ToHandle(event), found); code != ACL_SUCCESS) return code;
    if (const aclError code = Rt().FindStream(ToHandle(stream), target); code != ACL_SUCCESS) return code;
    target->Enqueue({[found, record = found->requested()](Stream &own) {
                       const bool came = found->Wait(record, [&own] { return own.IsAborting(); });
                       return came ? TaskResult() : TaskResult{ACL_ERROR_RT_DEVICE_TASK_ABORT, "the wait for an event was broken off"};
                     },
                     {}});
    return ACL_SUCCESS;
  });
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
  return Initialized([&]() -> aclError {
    return Rt().SynchronizeEvent(ToHandle(event));
  });
}

aclError aclrtEventElapsedTime(float *ms, aclrtEvent startEvent, aclrtEvent endEvent) {
  return Initialized([&]() -> aclError {
    if (ms == nullptr) return NullArgument("aclrtEventElapsedTime");
    std::shared_ptr<Event> start;
    std::shared_ptr<Event> end;
    if (const aclError code = Rt().FindEvent(ToHandle(startEvent), start); code != ACL_SUCCESS) return code;
    if (const aclError code = Rt().FindEvent(ToHandle(endEvent), end); code != ACL_SUCCESS) return code;
    if (start->finishedAt() == 0 || end->finishedAt() == 0) return Fail(ACL_ERROR_RT_PARAM_INVALID, "both events have to be recorded and done");
    *ms = static_cast<float>((static_cast<double>(end->finishedAt()) - static_cast<double>(start->finishedAt())) / 1e6);
    return ACL_SUCCESS;
  });
}

// --- memory

aclError aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy) {
  return Initialized([&] { return Noted("aclrtMalloc", Rt().Malloc(devPtr, size, true), 0, size); });
}
aclError aclrtMallocAlign32(void **devPtr, size_t size, aclrtMemMallocPolicy) {
  return Initialized([&] { return Noted("aclrtMalloc", Rt().Malloc(devPtr, size, false), 0, size); });
}
aclError aclrtFree(void *devPtr) {
  return Initialized([&] { return Noted("aclrtFree", Rt().Free(devPtr), 0); });
}
aclError aclrtMallocHost(void **hostPtr, size_t size) {
  return Initialized([&] { return Noted("aclrtMallocHost", Rt().MallocHost(hostPtr, size), 0, size); });
}
aclError aclrtFreeHost(void *hostPtr) {
  return Initialized([&] { return Noted("aclrtFreeHost", Rt().FreeHost(hostPtr), 0); });
}
aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind) {
  return Initialized([&] { return Rt().Memcpy(dst, destMax, src, count, kind); });
}
aclError aclrtMemcpyAsync(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind, aclrtStream stream) {
  return Initialized([&] { return Rt().MemcpyAsync(dst, destMax, src, count, kind, ToHandle(stream)); });
}
aclError aclrtMemset(void *devPtr, size_t maxCount, int32_t value, size_t count) {
  return Initialized([&] { return Rt().Memset(devPtr, maxCount, value, count); });
}
