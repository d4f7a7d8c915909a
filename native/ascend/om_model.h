// A copy of an .om model on a card, with the stream that it runs on: what one model instance has. No file of CANN, no Triton in here.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ascend/device.h"
#include "ascend/gears.h"
#include "ascend/om_description.h"
#include "ascend/stream.h"

namespace npu_console::ascend {

struct OmOptions {
  /** For copies and run together; zero: as long as it takes. */
  std::chrono::milliseconds timeout{60000};
  /** For loading and unloading. */
  std::chrono::milliseconds load_timeout{600000};
  /** Cores that its runs may take; 0: all. They act on models with free shapes; others keep what they were compiled with. */
  uint32_t cube_cores = 0;
  uint32_t vector_cores = 0;
  /** For models with free shapes: room for each output, one number for all or one per output. Empty: CANN allocates in each run, which takes longer. */
  std::vector<size_t> output_bytes;
  /** A file that names a chip of another family is refused before it is loaded. */
  bool check_chip = true;
};

/** One output after a run. */
struct OmOutput {
  /** In pinned host memory of the model, until its next run. */
  const void* data = nullptr;
  size_t bytes = 0;
  /** As the card gave it; cut back with `CopyBlock` where the request asked for less. */
  Dims dims;
  Dims cropped;
};

/** Nanoseconds; measured apart only where it was asked for, since that takes a wait after each part. */
struct OmTimes {
  uint64_t copy_in = 0;
  uint64_t run = 0;
  uint64_t copy_out = 0;
};

/** Used by one thread at a time, any thread. */
class OmModel {
 public:
  /** Checks the file against the card and loads it. @throws Error that says what does not fit and what to do */
  OmModel(std::shared_ptr<Device> device, const std::string& path, const OmOptions& options);
  /** Never waits for a card that hangs. */
  ~OmModel();
  OmModel(const OmModel&) = delete;
  OmModel& operator=(const OmModel&) = delete;

  const OmDescription& description() const { return description_; }
  Device& device() const { return *device_; }
  size_t work_bytes() const { return work_bytes_; }
  size_t weight_bytes() const { return weight_bytes_; }
  /** Sentences about what this CANN could not do of what was asked for. They stay as they are: other threads may read them during a run. */
  const std::vector<std::string>& notes() const { return notes_; }

  /** The shapes of a run; see PlanRun. @throws Error InvalidArgument */
  RunPlan Plan(const std::vector<Dims>& asked, Padding padding) const { return PlanRun(description_, asked, padding); }
  /** Pinned memory for an input of the next run, at least `bytes`: to be filled with the input in the shape of the plan. @throws Error */
  void* Stage(size_t input, size_t bytes);
  /**
   * Copies in, runs, copies back and waits. The staged inputs are used up.
   * @param times not null: each part is waited for and measured
   * @throws Error; after one of scope Device the card has to be acquired again, after others the next run may succeed
   */
  std::vector<OmOutput> Run(const RunPlan& plan, OmTimes* times = nullptr);

  /** Bytes of one input in that shape. @throws Error Unsupported for types without whole bytes */
  size_t InputBytes(size_t input, const Dims& dims) const;

 private:
  struct Loaded;
  struct Launch;

  void CheckChip(const std::string& path) const;
  void LimitCores();
  void NoteCoreLimits();
  void ReadGearOutputs();
  std::shared_ptr<Launch> MakeLaunch(const RunPlan& plan, bool has_own_outputs);
  void SetGear(Launch& launch, size_t gear);
  void RunFree(const std::shared_ptr<Launch>& launch);
  std::vector<Dims> OutputShapes(const Launch& launch, const RunPlan& plan) const;
  std::vector<OmOutput> CopyBack(Launch& launch, const RunPlan& plan, OmTimes* times);

  std::shared_ptr<Device> device_;
  const OmOptions options_;
  std::string path_;
  std::shared_ptr<Loaded> loaded_;
  OmDescription description_;
  size_t work_bytes_ = 0;
  size_t weight_bytes_ = 0;
  bool limits_cores_ = false;
  std::vector<std::string> notes_;
  std::vector<Buffer> staged_;
  std::vector<Buffer> results_;
  /** Kept until the stream is idle or gone: the card may still work on it. */
  std::shared_ptr<Launch> last_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace npu_console::ascend
