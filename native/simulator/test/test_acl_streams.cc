// The simulated AscendCL: streams, events, memory and copies: what is done when, and where errors surface.
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "core/stream.h"
#include "test/acl_fixture.h"

using acl_fixture::Contains;
using acl_fixture::Start;
using fixture::UseCards;

namespace {

/** A stream, and a piece of device and of pinned memory to copy between; given back with the process of the test. */
struct CopyPlace {
  aclrtStream stream = nullptr;
  void *device = nullptr;
  void *pinned = nullptr;
  explicit CopyPlace(size_t size) : bytes(size) {
    CHECK_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
    CHECK_EQ(aclrtMalloc(&device, bytes, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
    CHECK_EQ(aclrtMallocHost(&pinned, bytes), ACL_SUCCESS);
  }
  aclError CopyOut() const { return aclrtMemcpyAsync(pinned, bytes, device, bytes, ACL_MEMCPY_DEVICE_TO_HOST, stream); }

 private:
  const size_t bytes;
};

}  // namespace

TEST(a_stream_belongs_to_the_context_it_was_made_in) {
  Start();
  aclrtStream stream = nullptr;
  aclrtContext context = nullptr;
  aclrtContext other = nullptr;
  CHECK_EQ(aclrtGetCurrentContext(&context), ACL_SUCCESS);
  CHECK_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  CHECK_EQ(aclrtCreateContext(&other, 0), ACL_SUCCESS);
  CHECK_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_STREAM_CONTEXT);
  CHECK(Contains(aclGetRecentErrMsg(), "the stream is not in the current context"));
  CHECK_EQ(aclrtDestroyStream(stream), ACL_ERROR_RT_STREAM_CONTEXT);
  // aclrtSetDevice makes the default context current again.
  CHECK_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  CHECK_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  CHECK_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  CHECK_EQ(aclrtDestroyStream(stream), ACL_ERROR_RT_INVALID_HANDLE);
  CHECK_EQ(aclrtDestroyContext(other), ACL_SUCCESS);
  CHECK_EQ(aclrtSetCurrentContext(other), ACL_ERROR_RT_CONTEXT_NULL);
  CHECK_EQ(aclrtDestroyContext(context), ACL_ERROR_RT_PARAM_INVALID);
}

TEST(memory_is_accounted_rounded_and_limited) {
  Start({"310B1"});
  size_t before = 0;
  size_t free = 0;
  size_t total = 0;
  void *memory = nullptr;
  // A chip with DDR answers for it when asked for HBM.
  CHECK_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &before, &total), ACL_SUCCESS);
  CHECK_EQ(total, size_t{7545} << 20);
  CHECK_EQ(aclrtMalloc(&memory, 1000, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
  CHECK_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
  CHECK_EQ(aclrtGetMemInfo(ACL_DDR_MEM, &free, &total), ACL_SUCCESS);
  CHECK(before - free >= 1056 && before - free <= 1088);
  CHECK_EQ(aclrtFree(memory), ACL_SUCCESS);
  CHECK_EQ(aclrtFree(memory), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_EQ(aclrtGetMemInfo(ACL_DDR_MEM, &free, &total), ACL_SUCCESS);
  CHECK_EQ(free, before);
  CHECK_EQ(aclrtMalloc(&memory, 0, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_ERROR_INVALID_PARAM);
  CHECK_EQ(aclrtFree(nullptr), ACL_ERROR_INVALID_PARAM);
  CHECK_EQ(aclrtMalloc(&memory, total, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_ERROR_RT_MEMORY_ALLOCATION);
  CHECK_EQ(aclrtMalloc(&memory, SIZE_MAX, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_ERROR_RT_MEMORY_ALLOCATION);
  CHECK(Contains(aclGetRecentErrMsg(), "[simulated] out of device memory"));
}

TEST(copies_check_direction_and_room) {
  Start();
  char host[64] = "twelve bytes";
  char back[64] = {};
  void *device = nullptr;
  CHECK_EQ(aclrtMalloc(&device, 64, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
  CHECK_EQ(aclrtMemcpy(device, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  CHECK_EQ(aclrtMemcpy(back, 64, device, 64, ACL_MEMCPY_DEFAULT), ACL_SUCCESS);
  CHECK_EQ(std::string(back), "twelve bytes");
  CHECK_EQ(aclrtMemcpy(device, 63, host, 64, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_INVALID_PARAM);
  CHECK_EQ(aclrtMemcpy(device, 64, host, 64, ACL_MEMCPY_DEVICE_TO_HOST), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_EQ(aclrtMemcpy(back, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_EQ(aclrtMemcpy(static_cast<char *>(device) + 60, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_EQ(aclrtMemcpyAsync(back, 64, host, 64, ACL_MEMCPY_HOST_TO_HOST, nullptr), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  CHECK_EQ(aclrtMemset(device, 64, 'z', 3), ACL_SUCCESS);
  CHECK_EQ(aclrtMemset(host, 64, 'z', 3), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_EQ(aclrtMemcpy(back, 64, device, 64, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  CHECK_EQ(std::string(back), "zzzlve bytes");
  CHECK_EQ(aclrtFree(device), ACL_SUCCESS);
}

TEST(work_appears_only_when_the_stream_gets_to_it) {
  Start();
  aclrtStream stream = nullptr;
  aclrtStream holder = nullptr;
  aclrtEvent gate = nullptr;
  char *pinned = nullptr;
  void *device = nullptr;
  aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
  CHECK_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  CHECK_EQ(aclrtCreateStream(&holder), ACL_SUCCESS);
  CHECK_EQ(aclrtCreateEvent(&gate), ACL_SUCCESS);
  CHECK_EQ(aclrtMallocHost(reinterpret_cast<void **>(&pinned), 16), ACL_SUCCESS);
  CHECK_EQ(aclrtMalloc(&device, 16, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
  CHECK_EQ(aclrtMemset(device, 16, 7, 16), ACL_SUCCESS);
  std::memset(pinned, 0, 16);
  // The holder hangs, so the event it will record keeps the other stream waiting.
  UseCards({"910B3", "910B3"}, "{\"kind\": \"hang\", \"device\": 0}");
  CHECK_EQ(aclrtMemcpyAsync(pinned + 8, 8, device, 8, ACL_MEMCPY_DEVICE_TO_HOST, holder), ACL_SUCCESS);
  CHECK_EQ(aclrtRecordEvent(gate, holder), ACL_SUCCESS);
  CHECK_EQ(aclrtStreamWaitEvent(stream, gate), ACL_SUCCESS);
  CHECK_EQ(aclrtMemcpyAsync(pinned, 8, device, 8, ACL_MEMCPY_DEVICE_TO_HOST, stream), ACL_SUCCESS);
  CHECK_EQ(aclrtStreamQuery(stream, &status), ACL_SUCCESS);
  CHECK_EQ(status, ACL_STREAM_STATUS_NOT_READY);
  CHECK_EQ(aclrtSynchronizeStreamWithTimeout(stream, 60), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  CHECK_EQ(static_cast<int>(pinned[0]), 0);
  UseCards({"910B3", "910B3"});
  CHECK_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  CHECK_EQ(static_cast<int>(pinned[0]), 7);
  CHECK_EQ(static_cast<int>(pinned[8]), 7);
  CHECK_EQ(aclrtStreamQuery(stream, &status), ACL_SUCCESS);
  CHECK_EQ(status, ACL_STREAM_STATUS_COMPLETE);
  CHECK_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  CHECK_EQ(aclrtDestroyStream(holder), ACL_SUCCESS);
  CHECK_EQ(aclrtDestroyEvent(gate), ACL_SUCCESS);
  CHECK_EQ(aclrtFreeHost(pinned), ACL_SUCCESS);
  CHECK_EQ(aclrtFree(device), ACL_SUCCESS);
}

TEST(a_hanging_stream_can_be_aborted_and_destroyed) {
  Start();
  const CopyPlace place(16);
  UseCards({"910B3", "910B3"}, "{\"kind\": \"hang\", \"device\": 0}");
  aclrtDeviceStatus health = ACL_RT_DEVICE_STATUS_NORMAL;
  CHECK_EQ(aclrtQueryDeviceStatus(0, &health), ACL_SUCCESS);
  CHECK_EQ(health, ACL_RT_DEVICE_STATUS_ABNORMAL);
  CHECK_EQ(place.CopyOut(), ACL_SUCCESS);
  CHECK_EQ(aclrtSynchronizeStreamWithTimeout(place.stream, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  CHECK_EQ(aclrtStreamAbort(place.stream), ACL_SUCCESS);
  CHECK_EQ(aclrtSynchronizeStream(place.stream), ACL_ERROR_RT_DEVICE_TASK_ABORT);
  CHECK_EQ(place.CopyOut(), ACL_SUCCESS);
  CHECK_EQ(aclrtDestroyStreamForce(place.stream), ACL_SUCCESS);
}

TEST(work_that_was_dropped_does_not_count_as_done) {
  simulator::Stream stream(1, 1, 0);
  stream.Enqueue({[](simulator::Stream &own) {
                    while (!own.IsAborting()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
                    return simulator::TaskResult();
                  },
                  {}});
  stream.Enqueue({[](simulator::Stream &) { return simulator::TaskResult(); }, {}});
  stream.Abort();
  simulator::TaskResult result;
  CHECK(stream.Synchronize(-1, result));
  CHECK_EQ(result.code, ACL_ERROR_RT_DEVICE_TASK_ABORT);
}

TEST(errors_of_tasks_surface_at_the_synchronisation_once) {
  Start();
  const CopyPlace place(16);
  const struct {
    const char *kind;
    aclError code;
  } faults[] = {{"ecc", ACL_ERROR_RT_HBM_MULTI_BIT_ECC_ERROR}, {"task-timeout", ACL_ERROR_RT_TASK_TIMEOUT}, {"operator-exception", ACL_ERROR_RT_SYS_DMA}};
  for (const auto &fault : faults) {
    UseCards({"910B3", "910B3"}, std::string("{\"kind\": \"") + fault.kind + "\", \"device\": 0, \"count\": 1}");
    CHECK_EQ(place.CopyOut(), ACL_SUCCESS);
    CHECK_EQ(aclrtSynchronizeStream(place.stream), fault.code);
    CHECK_EQ(aclrtSynchronizeStream(place.stream), ACL_SUCCESS);
    CHECK_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), fault.code);
    CHECK_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), fault.code);
    CHECK_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS);
  }
}

TEST(memory_freed_before_its_copy_surfaces_at_the_synchronisation) {
  Start();
  const CopyPlace place(1 << 20);
  UseCards({"910B3", "910B3"}, "{\"kind\": \"hang\", \"device\": 0}");
  CHECK_EQ(place.CopyOut(), ACL_SUCCESS);
  CHECK_EQ(aclrtFree(place.device), ACL_SUCCESS);
  UseCards({"910B3", "910B3"});
  CHECK_EQ(aclrtSynchronizeStream(place.stream), ACL_ERROR_RT_AICORE_EXCEPTION);
}

TEST(out_of_memory_strikes_as_often_as_it_is_counted) {
  Start();
  void *memory = nullptr;
  UseCards({"910B3", "910B3"}, "{\"kind\": \"out-of-memory\", \"device\": 0, \"count\": 2}");
  CHECK_EQ(aclrtMalloc(&memory, 16, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_ERROR_RT_MEMORY_ALLOCATION);
  CHECK_EQ(aclrtMalloc(&memory, 16, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_ERROR_RT_MEMORY_ALLOCATION);
  CHECK_EQ(aclrtMalloc(&memory, 16, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
}

TEST(streams_run_out) {
  Start({"310B1"});
  std::vector<aclrtStream> streams(512);
  uint32_t left = 0;
  for (aclrtStream &stream : streams) CHECK_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  aclrtStream one = nullptr;
  CHECK_EQ(aclrtGetStreamAvailableNum(&left), ACL_SUCCESS);
  CHECK_EQ(left, 0u);
  CHECK_EQ(aclrtCreateStream(&one), ACL_ERROR_RT_NO_STREAM_RESOURCE);
  CHECK_EQ(aclrtDestroyStream(streams.back()), ACL_SUCCESS);
  CHECK_EQ(aclrtCreateStream(&one), ACL_SUCCESS);
  CHECK_EQ(aclrtResetDeviceForce(0), ACL_SUCCESS);
}

TEST(events_measure_time) {
  Start();
  aclrtStream stream = nullptr;
  aclrtEvent start = nullptr;
  aclrtEvent end = nullptr;
  float ms = -1;
  CHECK_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  CHECK_EQ(aclrtCreateEvent(&start), ACL_SUCCESS);
  CHECK_EQ(aclrtCreateEventWithFlag(&end, 0), ACL_SUCCESS);
  CHECK_EQ(aclrtEventElapsedTime(&ms, start, end), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_EQ(aclrtRecordEvent(start, stream), ACL_SUCCESS);
  CHECK_EQ(aclrtRecordEvent(end, stream), ACL_SUCCESS);
  CHECK_EQ(aclrtSynchronizeEvent(end), ACL_SUCCESS);
  CHECK_EQ(aclrtEventElapsedTime(&ms, start, end), ACL_SUCCESS);
  CHECK(ms >= 0);
  CHECK_EQ(aclrtDestroyEvent(start), ACL_SUCCESS);
  CHECK_EQ(aclrtDestroyEvent(start), ACL_ERROR_RT_INVALID_HANDLE);
}
