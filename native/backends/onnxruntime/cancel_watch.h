// Ends runs whose clients all gave up. The API does not call back, so one thread looks at what runs long; while nothing runs it sleeps.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "common/batch.h"
#include "onnxruntime/ort_library.h"

namespace npu_console::onnxruntime {

class CancelWatch {
 public:
  CancelWatch() = default;
  ~CancelWatch();
  CancelWatch(const CancelWatch&) = delete;
  CancelWatch& operator=(const CancelWatch&) = delete;

  // What one instance runs. Belongs to the instance, known to the watch as long as it lives.
  class Run {
   public:
    Run(CancelWatch& watch, const OrtApi& api, OrtRunOptions* options);
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
    // The options end the run when every member of the batch is cancelled, until End.
    void Begin(const kit::Batch& batch);
    // Was it ended? Afterwards the options can be used again.
    bool End();

   private:
    friend class CancelWatch;
    CancelWatch& watch_;
    const OrtApi& api_;
    OrtRunOptions* const options_;
    std::mutex mutex_;
    const kit::Batch* batch_ = nullptr;
    bool is_ended_ = false;
  };

 private:
  void Watch();
  // Looks at all runs; false where none is under way.
  bool Look();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Run*> runs_;
  std::thread thread_;
  std::atomic<bool> is_asleep_{false};
  bool is_closing_ = false;
};

}  // namespace npu_console::onnxruntime
