// The simulated AscendCL: initialisation, devices, contexts, limits, error texts and their codes.
#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "core/settings.h"
#include "test/acl_fixture.h"

using acl_fixture::Contains;
using acl_fixture::Start;
using fixture::UseCards;

TEST(refuses_to_start_without_settings) {
  unsetenv(simulator::SETTINGS_VARIABLE);
  CHECK_EQ(aclInit(nullptr), ACL_ERROR_INTERNAL_ERROR);
  CHECK(Contains(aclGetRecentErrMsg(), "NPU_SIMULATOR_SETTINGS does not name a settings file"));
  CHECK(aclrtGetSocName() == nullptr);
}

TEST(names_an_unknown_profile) {
  UseCards({"Ascend9000"});
  CHECK_EQ(aclInit(nullptr), ACL_ERROR_INTERNAL_ERROR);
  CHECK(Contains(aclGetRecentErrMsg(), "unknown profile 'Ascend9000': use one of 310B1, 310P3"));
}

TEST(stub_mode_returns_100039) {
  UseCards({"910B3"}, "", "\"stubMode\": true");
  uint32_t count = 0;
  CHECK_EQ(aclInit(nullptr), ACL_ERROR_COMPILING_STUB_MODE);
  CHECK_EQ(aclrtGetDeviceCount(&count), ACL_ERROR_COMPILING_STUB_MODE);
}

TEST(wants_aclInit_first) {
  UseCards({"910B3"});
  uint32_t count = 0;
  CHECK_EQ(aclrtGetDeviceCount(&count), ACL_ERROR_UNINITIALIZE);
  CHECK_EQ(aclrtSetDevice(0), ACL_ERROR_UNINITIALIZE);
  CHECK_EQ(aclFinalize(), ACL_ERROR_UNINITIALIZE);
  CHECK_EQ(aclInit(nullptr), ACL_SUCCESS);
  CHECK_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  CHECK_EQ(count, 1u);
}

TEST(counts_inits_and_finalizes) {
  UseCards({"910B3"});
  uint64_t left = 99;
  CHECK_EQ(aclInit(nullptr), ACL_SUCCESS);
  CHECK_EQ(aclInit(nullptr), ACL_ERROR_REPEAT_INITIALIZE);
  CHECK_EQ(aclFinalizeReference(&left), ACL_SUCCESS);
  CHECK_EQ(left, 1u);
  CHECK_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  CHECK_EQ(aclFinalize(), ACL_SUCCESS);
  CHECK_EQ(aclFinalize(), ACL_ERROR_REPEAT_FINALIZE);
  CHECK_EQ(aclrtSetDevice(0), ACL_ERROR_UNINITIALIZE);
  CHECK_EQ(aclInit(nullptr), ACL_SUCCESS);
  CHECK_EQ(aclrtSetDevice(0), ACL_SUCCESS);
}

TEST(reads_the_configuration_file) {
  UseCards({"910B3"});
  const std::string path = fixture::Directory() + "/acl.json";
  CHECK_EQ(aclInit((path + ".missing").c_str()), ACL_ERROR_INVALID_FILE);
  fixture::WriteFile(path, "{\"dump\": {\"dump_list\": [}}");
  CHECK_EQ(aclInit(path.c_str()), ACL_ERROR_PARSE_FILE);
  fixture::WriteFile(path, "{\"a\":" + std::string(20, '[') + std::string(20, ']') + "}");
  CHECK_EQ(aclInit(path.c_str()), ACL_ERROR_PARSE_FILE);
  fixture::WriteFile(path, "{}");
  CHECK_EQ(aclInit(path.c_str()), ACL_SUCCESS);
}

TEST(describes_the_devices) {
  Start({"310P3-duo", "910B3"});
  uint32_t count = 0;
  int64_t value = 0;
  aclrtRunMode mode = ACL_DEVICE;
  CHECK_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  CHECK_EQ(count, 3u);
  CHECK_EQ(std::string(aclrtGetSocName()), "Ascend310P3");
  CHECK_EQ(aclrtGetRunMode(&mode), ACL_SUCCESS);
  CHECK_EQ(mode, ACL_HOST);
  CHECK_EQ(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_CUBE_CORE_NUM, &value), ACL_SUCCESS);
  CHECK_EQ(value, 8);
  CHECK_EQ(aclrtGetDeviceInfo(2, ACL_DEV_ATTR_VECTOR_CORE_NUM, &value), ACL_SUCCESS);
  CHECK_EQ(value, 40);
  CHECK_EQ(aclrtGetDeviceInfo(2, ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE, &value), ACL_SUCCESS);
  CHECK_EQ(value, int64_t{65536} << 20);
  CHECK_EQ(aclrtGetDeviceInfo(3, ACL_DEV_ATTR_CUBE_CORE_NUM, &value), ACL_ERROR_RT_INVALID_DEVICEID);
  CHECK_EQ(aclrtSetDevice(3), ACL_ERROR_RT_INVALID_DEVICEID);
  CHECK_EQ(aclrtSetDevice(-1), ACL_ERROR_RT_INVALID_DEVICEID);
}

TEST(visible_devices_are_renumbered) {
  setenv("ASCEND_RT_VISIBLE_DEVICES", "1,2,x,0", 1);
  Start({"310P3", "910B3", "910B4"});
  uint32_t count = 0;
  CHECK_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  CHECK_EQ(count, 2u);
  CHECK_EQ(std::string(aclrtGetSocName()), "Ascend910B3");
  int64_t chip = 0;
  CHECK_EQ(aclrtGetDeviceInfo(1, ACL_DEV_ATTR_PHY_CHIP_ID, &chip), ACL_SUCCESS);
  CHECK_EQ(chip, 2);
}

TEST(a_thread_has_no_context_until_it_sets_one) {
  Start();
  aclrtContext first = nullptr;
  CHECK_EQ(aclrtGetCurrentContext(&first), ACL_SUCCESS);
  std::thread([&] {
    aclrtContext own = nullptr;
    int32_t device = -1;
    void *memory = nullptr;
    aclrtStream stream = nullptr;
    CHECK_EQ(aclrtGetCurrentContext(&own), ACL_ERROR_RT_CONTEXT_NULL);
    CHECK_EQ(aclrtGetDevice(&device), ACL_ERROR_RT_CONTEXT_NULL);
    CHECK_EQ(aclrtMalloc(&memory, 8, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_ERROR_RT_CONTEXT_NULL);
    CHECK_EQ(aclrtCreateStream(&stream), ACL_ERROR_RT_CONTEXT_NULL);
    CHECK_EQ(aclrtSetCurrentContext(first), ACL_SUCCESS);
    CHECK_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
    CHECK_EQ(device, 0);
    CHECK_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
    CHECK_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  }).join();
  // The default context is shared by all threads of the device.
  std::thread([&] {
    aclrtContext own = nullptr;
    CHECK_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    CHECK_EQ(aclrtGetCurrentContext(&own), ACL_SUCCESS);
    CHECK_EQ(own, first);
  }).join();
}

TEST(a_device_is_released_when_its_last_user_resets_it) {
  Start();
  aclrtStream stream = nullptr;
  void *memory = nullptr;
  size_t before = 0;
  size_t after = 0;
  size_t total = 0;
  CHECK_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &before, &total), ACL_SUCCESS);
  CHECK_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  CHECK_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  CHECK_EQ(aclrtMalloc(&memory, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  CHECK_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  CHECK_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  CHECK_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  CHECK_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_CONTEXT_NULL);
  CHECK_EQ(aclrtResetDevice(0), ACL_ERROR_RT_CONTEXT_NULL);
  CHECK_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  CHECK_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total), ACL_SUCCESS);
  CHECK_EQ(after, before);
  CHECK_EQ(aclrtFree(memory), ACL_ERROR_RT_PARAM_INVALID);
}

TEST(a_lost_card_fails_at_every_door) {
  Start();
  void *device = nullptr;
  char host[16] = {};
  size_t free = 0;
  CHECK_EQ(aclrtMalloc(&device, 16, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
  UseCards({"910B3", "910B3"}, "{\"kind\": \"card-lost\", \"device\": 0}");
  CHECK_EQ(aclrtMalloc(reinterpret_cast<void **>(&free), 16, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_ERROR_RT_SOCKET_CLOSE);
  CHECK_EQ(aclrtMemcpy(device, 16, host, 16, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_SOCKET_CLOSE);
  CHECK_EQ(aclrtSynchronizeDevice(), ACL_ERROR_RT_SOCKET_CLOSE);
  CHECK_EQ(aclrtSetDevice(0), ACL_ERROR_RT_DEV_SETUP_ERROR);
  CHECK_EQ(aclrtSetDevice(1), ACL_SUCCESS);
}

TEST(a_user_without_permission_sees_no_device) {
  UseCards({"910B3"}, "{\"kind\": \"permission\"}");
  uint32_t count = 9;
  CHECK_EQ(aclInit(nullptr), ACL_SUCCESS);
  CHECK_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  CHECK_EQ(count, 0u);
  CHECK_EQ(aclrtSetDevice(0), ACL_ERROR_RT_DEV_SETUP_ERROR);
}

TEST(core_limits_have_three_levels) {
  Start();
  aclrtStream stream = nullptr;
  uint32_t value = 0;
  CHECK_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  CHECK_EQ(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, &value), ACL_SUCCESS);
  CHECK_EQ(value, 20u);
  CHECK_EQ(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, 21), ACL_ERROR_RT_PARAM_INVALID);
  CHECK(Contains(aclGetRecentErrMsg(), "EE1003"));
  CHECK_EQ(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, 12), ACL_SUCCESS);
  CHECK_EQ(aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_VECTOR_CORE, 10), ACL_SUCCESS);
  CHECK_EQ(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_VECTOR_CORE, &value), ACL_SUCCESS);
  CHECK_EQ(value, 40u);
  CHECK_EQ(aclrtUseStreamResInCurrentThread(stream), ACL_SUCCESS);
  CHECK_EQ(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_VECTOR_CORE, &value), ACL_SUCCESS);
  CHECK_EQ(value, 10u);
  CHECK_EQ(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &value), ACL_SUCCESS);
  CHECK_EQ(value, 12u);
  CHECK_EQ(aclrtUnuseStreamResInCurrentThread(stream), ACL_SUCCESS);
  CHECK_EQ(aclrtResetStreamResLimit(stream), ACL_SUCCESS);
  CHECK_EQ(aclrtResetDeviceResLimit(0), ACL_SUCCESS);
  CHECK_EQ(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &value), ACL_SUCCESS);
  CHECK_EQ(value, 20u);
}

TEST(error_texts_belong_to_the_thread_and_are_read_once) {
  Start();
  CHECK_EQ(aclrtSetDevice(77), ACL_ERROR_RT_INVALID_DEVICEID);
  CHECK_EQ(aclrtFree(nullptr), ACL_ERROR_INVALID_PARAM);
  std::thread([] { CHECK(aclGetRecentErrMsg() == nullptr); }).join();
  const char *texts = aclGetRecentErrMsg();
  REQUIRE(texts != nullptr);
  // Newest first.
  const char *newest = std::strstr(texts, "aclrtFree");
  const char *oldest = std::strstr(texts, "device 77");
  CHECK(newest != nullptr && oldest != nullptr && newest < oldest);
  CHECK(aclGetRecentErrMsg() == nullptr);
}

TEST(many_threads_use_one_device) {
  Start();
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int number = 0; number < 8; number++) {
    threads.emplace_back([&good, number] {
      aclrtStream stream = nullptr;
      void *device = nullptr;
      unsigned char *pinned = nullptr;
      if (aclrtSetDevice(number % 2) != ACL_SUCCESS || aclrtCreateStream(&stream) != ACL_SUCCESS) return;
      if (aclrtMalloc(&device, 256, ACL_MEM_MALLOC_NORMAL_ONLY) != ACL_SUCCESS) return;
      if (aclrtMallocHost(reinterpret_cast<void **>(&pinned), 256) != ACL_SUCCESS) return;
      bool isRight = true;
      for (int round = 0; round < 50; round++) {
        std::memset(pinned, number * 20 + round % 10, 256);
        isRight = isRight && aclrtMemcpyAsync(device, 256, pinned, 256, ACL_MEMCPY_HOST_TO_DEVICE, stream) == ACL_SUCCESS &&
                  aclrtSynchronizeStream(stream) == ACL_SUCCESS;
        std::memset(pinned, 0, 256);
        isRight = isRight && aclrtMemcpyAsync(pinned, 256, device, 256, ACL_MEMCPY_DEVICE_TO_HOST, stream) == ACL_SUCCESS &&
                  aclrtSynchronizeStream(stream) == ACL_SUCCESS && pinned[255] == number * 20 + round % 10;
      }
      isRight = isRight && aclrtFree(device) == ACL_SUCCESS && aclrtFreeHost(pinned) == ACL_SUCCESS && aclrtDestroyStream(stream) == ACL_SUCCESS;
      if (isRight && aclrtResetDevice(number % 2) == ACL_SUCCESS) good++;
    });
  }
  for (std::thread &thread : threads) thread.join();
  CHECK_EQ(good.load(), 8);
}

TEST(all_names_of_the_library_share_one_state) {
  UseCards({"910B3"});
  void *all = dlopen(TEST_LIBRARY_DIR "/libascendcl.so", RTLD_NOW | RTLD_LOCAL);
  REQUIRE(all != nullptr);
  const auto init = reinterpret_cast<decltype(&aclInit)>(dlsym(all, "aclInit"));
  const auto load = reinterpret_cast<decltype(&aclmdlLoadFromFile)>(dlsym(all, "aclmdlLoadFromFile"));
  REQUIRE(init != nullptr && load != nullptr);
  CHECK_EQ(init(nullptr), ACL_SUCCESS);
  CHECK_EQ(aclInit(nullptr), ACL_ERROR_REPEAT_INITIALIZE);
  void *rt = dlopen(TEST_LIBRARY_DIR "/libacl_rt.so", RTLD_NOW | RTLD_LOCAL);
  REQUIRE(rt != nullptr);
  CHECK(dlsym(rt, "aclrtSetDeviceResLimit") != nullptr);
  CHECK(dlsym(rt, "aclmdlLoadFromFile") == nullptr);
}

TEST(an_old_package_lacks_the_newer_names) {
  UseCards({"910B3"});
  void *old = dlopen(TEST_LIBRARY_DIR "-8.2/libascendcl.so", RTLD_NOW | RTLD_LOCAL);
  REQUIRE(old != nullptr);
  CHECK(dlsym(old, "aclrtSetDevice") != nullptr);
  CHECK(dlsym(old, "aclmdlExecuteAsync") != nullptr);
  CHECK(dlsym(old, "aclrtGetResInCurrentThread") == nullptr);
  CHECK(dlsym(old, "aclrtSetStreamResLimit") == nullptr);
  CHECK(dlopen(TEST_LIBRARY_DIR "-8.2/libacl_rt.so", RTLD_NOW | RTLD_LOCAL) == nullptr);
}
