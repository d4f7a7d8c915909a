// Each fault in each phase of a model's life: CANN's code for it, and that the card works again once the fault is gone.
#include <chrono>
#include <cstring>
#include <thread>

#include "acl/acl.h"
#include "core/shared_state.h"
#include "test/check.h"
#include "test/fixture.h"
#include "test/model_fixture.h"

using fixture::UseCards;

namespace {

constexpr int SYNC_MILLISECONDS = 60;

std::string Members(int heartbeatMilliseconds) { return "\"timeScale\": 0, \"heartbeatMilliseconds\": " + std::to_string(heartbeatMilliseconds); }

std::string FaultText(const std::string &kind, const std::string &phase, const std::string &more = "") {
  return "{\"kind\": \"" + kind + "\", \"device\": 0" + (phase.empty() ? "" : ", \"phase\": \"" + phase + "\"") + more + "}";
}

/** One model on one stream of device 0, from opening the device to giving everything back. */
class Work {
 public:
  explicit Work(const std::string &om) : om_(om) {}
  /** As a backend does on a card that failed: nothing here may wait for the card. */
  ~Work() {
    if (stream != nullptr) aclrtDestroyStreamForce(stream);
    if (isLoaded_) aclmdlUnload(id_);
    for (aclDataBuffer *buffer : buffers_) aclDestroyDataBuffer(buffer);
    if (input_ != nullptr) aclmdlDestroyDataset(input_);
    if (output_ != nullptr) aclmdlDestroyDataset(output_);
    for (void *memory : {inputMemory_, outputMemory_}) {
      if (memory != nullptr) aclrtFree(memory);
    }
    if (pinned != nullptr) aclrtFreeHost(pinned);
    if (isOpen_) aclrtResetDevice(0);
  }
  Work(const Work &) = delete;
  Work &operator=(const Work &) = delete;

  aclError Load() {
    aclError code = aclrtSetDevice(0);
    if (code != ACL_SUCCESS) return code;
    isOpen_ = true;
    if (code = aclmdlLoadFromFile(om_.c_str(), &id_); code != ACL_SUCCESS) return code;
    isLoaded_ = true;
    if (code = aclrtMalloc(&inputMemory_, INPUT_BYTES, ACL_MEM_MALLOC_NORMAL_ONLY); code != ACL_SUCCESS) return code;
    if (code = aclrtMalloc(&outputMemory_, OUTPUT_BYTES, ACL_MEM_MALLOC_NORMAL_ONLY); code != ACL_SUCCESS) return code;
    CHECK_EQ(aclrtMallocHost(reinterpret_cast<void **>(&pinned), INPUT_BYTES + OUTPUT_BYTES), ACL_SUCCESS);
    CHECK_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
    input_ = Dataset(inputMemory_, INPUT_BYTES);
    output_ = Dataset(outputMemory_, OUTPUT_BYTES);
    return ACL_SUCCESS;
  }

  /** Everything on the stream; the first code that is not success, also of the synchronisation. */
  aclError Run() {
    const std::vector<float> values = fixture::Ramp(4);
    std::memcpy(pinned, values.data(), INPUT_BYTES);
    aclError code = aclrtMemcpyAsync(inputMemory_, INPUT_BYTES, pinned, INPUT_BYTES, ACL_MEMCPY_HOST_TO_DEVICE, stream);
    if (code != ACL_SUCCESS) return code;
    if (code = aclmdlExecuteAsync(id_, input_, output_, stream); code != ACL_SUCCESS) return code;
    code = aclrtMemcpyAsync(pinned + INPUT_BYTES, OUTPUT_BYTES, outputMemory_, OUTPUT_BYTES, ACL_MEMCPY_DEVICE_TO_HOST, stream);
    return code == ACL_SUCCESS ? aclrtSynchronizeStreamWithTimeout(stream, SYNC_MILLISECONDS) : code;
  }

  std::vector<float> Result() const {
    std::vector<float> values(3);
    std::memcpy(values.data(), pinned + INPUT_BYTES, OUTPUT_BYTES);
    return values;
  }

  aclrtStream stream = nullptr;
  char *pinned = nullptr;

 private:
  static constexpr size_t INPUT_BYTES = 16;
  static constexpr size_t OUTPUT_BYTES = 12;

  aclmdlDataset *Dataset(void *memory, size_t bytes) {
    aclmdlDataset *dataset = aclmdlCreateDataset();
    buffers_.push_back(aclCreateDataBuffer(memory, bytes));
    CHECK_EQ(aclmdlAddDatasetBuffer(dataset, buffers_.back()), ACL_SUCCESS);
    return dataset;
  }

  const std::string om_;
  bool isOpen_ = false;
  bool isLoaded_ = false;
  uint32_t id_ = 0;
  void *inputMemory_ = nullptr;
  void *outputMemory_ = nullptr;
  aclmdlDataset *input_ = nullptr;
  aclmdlDataset *output_ = nullptr;
  std::vector<aclDataBuffer *> buffers_;
};

/** What a whole piece of work ends with. */
aclError LoadAndRun(const std::string &om, bool &wasLoaded) {
  Work work(om);
  const aclError code = work.Load();
  wasLoaded = code == ACL_SUCCESS;
  return wasLoaded ? work.Run() : code;
}

const struct {
  const char *kind;
  /** In the order load, copy-in, run, copy-out, sync. */
  aclError codes[5];
} TABLE[] = {
    {"out-of-memory", {ACL_ERROR_GE_MEMORY_ALLOCATION, ACL_ERROR_RT_DEVICE_OOM, ACL_ERROR_RT_DEVICE_OOM, ACL_ERROR_RT_DEVICE_OOM, ACL_ERROR_RT_DEVICE_OOM}},
    {"card-lost", {ACL_ERROR_RT_DEV_SETUP_ERROR, ACL_ERROR_RT_SOCKET_CLOSE, ACL_ERROR_RT_SOCKET_CLOSE, ACL_ERROR_RT_SOCKET_CLOSE, ACL_ERROR_RT_SOCKET_CLOSE}},
    {"ecc", {ACL_ERROR_RT_HBM_MULTI_BIT_ECC_ERROR, ACL_ERROR_RT_HBM_MULTI_BIT_ECC_ERROR, ACL_ERROR_RT_HBM_MULTI_BIT_ECC_ERROR, ACL_ERROR_RT_HBM_MULTI_BIT_ECC_ERROR,
             ACL_ERROR_RT_HBM_MULTI_BIT_ECC_ERROR}},
    {"task-timeout", {ACL_ERROR_RT_TIMEOUT, ACL_ERROR_RT_TASK_TIMEOUT, ACL_ERROR_RT_AICORE_TIMEOUT, ACL_ERROR_RT_TASK_TIMEOUT, ACL_ERROR_RT_STREAM_SYNC_TIMEOUT}},
    {"operator-exception", {ACL_ERROR_GE_LOAD_MODEL, ACL_ERROR_RT_SYS_DMA, ACL_ERROR_RT_AICORE_EXCEPTION, ACL_ERROR_RT_SYS_DMA, ACL_ERROR_RT_AICORE_EXCEPTION}},
    // A task that hangs shows as the timeout of the synchronisation; a call that waits for the card gives up without a heartbeat.
    {"hang", {ACL_ERROR_RT_DEV_SETUP_ERROR, ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, ACL_ERROR_RT_LOST_HEARTBEAT}},
    {"permission", {ACL_ERROR_RT_DEV_SETUP_ERROR, ACL_ERROR_RT_NO_PERMISSION, ACL_ERROR_RT_NO_PERMISSION, ACL_ERROR_RT_NO_PERMISSION, ACL_ERROR_RT_NO_PERMISSION}},
};
const char *const PHASES[] = {"load", "copy-in", "run", "copy-out", "sync"};

}  // namespace

TEST(every_fault_in_every_phase_has_its_code_and_ends_with_it) {
  UseCards({"910B3"}, "", Members(40));
  CHECK_EQ(aclInit(nullptr), ACL_SUCCESS);
  const std::string om = fixture::MakeOm(fixture::LinearModel(1), fixture::Request());
  const std::vector<float> expected = fixture::Reference(fixture::LinearModel(1), fixture::Ramp(4), {1, 4});
  const uint64_t before = simulator::SharedState::Instance().MemoryInUse(0);
  for (const auto &row : TABLE) {
    for (size_t phase = 0; phase < 5; phase++) {
      for (const char *more : {"", ", \"needsReset\": true"}) {
        const std::string fault = FaultText(row.kind, PHASES[phase], more);
        bool wasLoaded = false;
        UseCards({"910B3"}, fault, Members(40));
        const aclError code = LoadAndRun(om, wasLoaded);
        if (code != row.codes[phase] || wasLoaded != (phase > 0)) check::Failed(__FILE__, __LINE__, fault + ": got " + std::to_string(code) + (wasLoaded ? " after" : " before") + " loading");
        UseCards({"910B3"}, "", Members(40));
        Work again(om);
        if (again.Load() != ACL_SUCCESS || again.Run() != ACL_SUCCESS || again.Result() != expected) check::Failed(__FILE__, __LINE__, fault + " did not end with the fault");
      }
    }
  }
  CHECK_EQ(simulator::SharedState::Instance().MemoryInUse(0), before);
}

TEST(a_card_that_needs_a_reset_answers_nothing_else_until_then) {
  UseCards({"910B3"});
  CHECK_EQ(aclInit(nullptr), ACL_SUCCESS);
  const std::string om = fixture::MakeOm(fixture::LinearModel(1), fixture::Request());
  {
    Work work(om);
    CHECK_EQ(work.Load(), ACL_SUCCESS);
    UseCards({"910B3"}, FaultText("ecc", "run", ", \"count\": 1, \"needsReset\": true"));
    CHECK_EQ(work.Run(), ACL_ERROR_RT_HBM_MULTI_BIT_ECC_ERROR);
    UseCards({"910B3"});
    CHECK_EQ(work.Run(), ACL_ERROR_RT_HBM_MULTI_BIT_ECC_ERROR);
    CHECK(std::strstr(aclGetRecentErrMsg(), "answers nothing until it is reset") != nullptr);
    // Another user of the device in this process keeps it from being reset.
    CHECK_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  }
  void *memory = nullptr;
  CHECK_EQ(aclrtMalloc(&memory, 16, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_ERROR_RT_HBM_MULTI_BIT_ECC_ERROR);
  CHECK_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  Work again(om);
  CHECK_EQ(again.Load(), ACL_SUCCESS);
  CHECK_EQ(again.Run(), ACL_SUCCESS);
}

TEST(a_counted_fault_strikes_one_run_of_two) {
  UseCards({"910B3"});
  CHECK_EQ(aclInit(nullptr), ACL_SUCCESS);
  Work work(fixture::MakeOm(fixture::LinearModel(1), fixture::Request()));
  CHECK_EQ(work.Load(), ACL_SUCCESS);
  UseCards({"910B3"}, FaultText("operator-exception", "run", ", \"count\": 1"));
  CHECK_EQ(work.Run(), ACL_ERROR_RT_AICORE_EXCEPTION);
  CHECK_EQ(work.Run(), ACL_SUCCESS);
  UseCards({"910B3"}, FaultText("operator-exception", "run", ", \"after\": 1, \"count\": 1"));
  CHECK_EQ(work.Run(), ACL_SUCCESS);
  CHECK_EQ(work.Run(), ACL_ERROR_RT_AICORE_EXCEPTION);
  CHECK_EQ(work.Run(), ACL_SUCCESS);
}

TEST(calls_on_a_card_that_hangs_give_up_without_a_heartbeat) {
  UseCards({"910B3"}, "", Members(60));
  CHECK_EQ(aclInit(nullptr), ACL_SUCCESS);
  Work work(fixture::MakeOm(fixture::LinearModel(1), fixture::Request()));
  CHECK_EQ(work.Load(), ACL_SUCCESS);
  void *device = nullptr;
  void *more = nullptr;
  aclrtEvent event = nullptr;
  CHECK_EQ(aclrtMalloc(&device, 16, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
  CHECK_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
  UseCards({"910B3"}, FaultText("hang", ""), Members(60));
  CHECK_EQ(work.Run(), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  CHECK_EQ(aclrtRecordEvent(event, work.stream), ACL_SUCCESS);
  CHECK_EQ(aclrtMemcpy(device, 16, work.pinned, 16, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_LOST_HEARTBEAT);
  CHECK_EQ(aclrtMalloc(&more, 16, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_ERROR_RT_LOST_HEARTBEAT);
  CHECK_EQ(aclrtSynchronizeStream(work.stream), ACL_ERROR_RT_LOST_HEARTBEAT);
  CHECK_EQ(aclrtSynchronizeEvent(event), ACL_ERROR_RT_LOST_HEARTBEAT);
  CHECK_EQ(aclrtSynchronizeDevice(), ACL_ERROR_RT_LOST_HEARTBEAT);
  CHECK(std::strstr(aclGetRecentErrMsg(), "its heartbeat is lost") != nullptr);
  CHECK_EQ(aclrtStreamAbort(work.stream), ACL_SUCCESS);
  CHECK_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
  // A hang that passes lets the calls go on that waited.
  std::thread healer([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    UseCards({"910B3"}, "", Members(10'000));
  });
  UseCards({"910B3"}, FaultText("hang", ""), Members(10'000));
  CHECK_EQ(aclrtMemcpy(device, 16, work.pinned, 16, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  healer.join();
}

TEST(an_unknown_phase_is_named) {
  UseCards({"910B3"}, FaultText("ecc", "lunch"));
  CHECK_EQ(aclInit(nullptr), ACL_ERROR_INTERNAL_ERROR);
  CHECK(std::strstr(aclGetRecentErrMsg(), "unknown phase 'lunch' of the fault 'ecc': use one of copy-in, copy-out, load, run, sync") != nullptr);
}
