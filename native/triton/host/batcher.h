// A batching library: it says whether a request may join the batch that the embedder's scheduler is forming (Triton's custom batching).
//
// Unlike all other code of a backend it runs on the calling thread: a scheduler needs the answer at once. So it must be quick, it may only read the requests, and
// it cannot ask the embedder anything (OnEmbedderThread).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "request_ledger.h"

struct TRITONBACKEND_Model;

namespace npu_console::triton {

class Batcher {
 public:
  // Looks in order for: `given`, where it is not empty; batchstrategy.so in the version's folder, the model's and the backend's; the backend itself. What is found
  // is opened and initialized for the model, which outlives it. Null and no error: the model has none.
  static ErrorPtr Open(TRITONBACKEND_Model* model, const std::string& given, std::shared_ptr<Batcher>* opened);
  ~Batcher();

  const std::string& library() const { return path_; }

  ErrorPtr Begin(std::uint64_t batch);
  // The data of the request is borrowed until the end of the batch: a library may compare with what it saw before.
  ErrorPtr Include(std::uint64_t batch, const TritonHostRequest& request, bool* included);
  ErrorPtr End(std::uint64_t batch);
  // Ends the batches that are left, then ModelBatcherFinalize. Nothing is taken afterwards.
  ErrorPtr Close();

 private:
  struct EntryPoints {
    decltype(&TRITONBACKEND_ModelBatcherInitialize) initialize;
    decltype(&TRITONBACKEND_ModelBatcherFinalize) finalize;
    decltype(&TRITONBACKEND_ModelBatchInitialize) begin;
    decltype(&TRITONBACKEND_ModelBatchIncludeRequest) include;
    decltype(&TRITONBACKEND_ModelBatchFinalize) end;
  };
  struct Batch {
    void* userp = nullptr;
    std::vector<std::unique_ptr<TRITONBACKEND_Request>> seen;
  };

  Batcher(TRITONBACKEND_Model* model, std::string path, void* handle, const EntryPoints& entry);
  template <class Body>
  ErrorPtr Call(const char* entry_point, Body body) const;
  ErrorPtr Finalize(Batch& batch);
  ErrorPtr NoBatch(std::uint64_t batch) const;

  const std::string path_;
  void* const handle_;
  const EntryPoints entry_;
  const EventQueuePtr events_;
  // Of requests that are only looked at.
  RequestLedger ledger_;
  std::mutex mutex_;
  bool is_closed_ = false;
  TRITONBACKEND_Batcher* batcher_ = nullptr;
  std::map<std::uint64_t, Batch> batches_;
};

}  // namespace npu_console::triton
