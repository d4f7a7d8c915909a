// One batch of requests: their inputs put together, the outputs cut up again, and each request answered and released exactly once, whatever happens.
//
// The shapes here are the model's: with the batch dimension where the model has one. Undoing a `reshape` of the configuration is the server's work.
// A request that is wrong by itself (sizes that do not fit, a shape unlike the others') is failed alone; what is left is the batch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/model_config.h"

namespace npu_console::kit {

// Steady clock, nanoseconds: what statistics are counted in.
std::uint64_t Now();

struct Piece {
  const void* data = nullptr;
  std::uint64_t byte_size = 0;
};

// An input of one request. Name and data live until the request is released.
struct RequestInput {
  std::string name;
  TRITONSERVER_DataType datatype = TRITONSERVER_TYPE_INVALID;
  std::vector<std::int64_t> shape;
  std::uint64_t byte_size = 0;
  std::vector<Piece> pieces;
};

// An input of the whole batch.
struct GatheredInput {
  std::string name;
  TRITONSERVER_DataType datatype = TRITONSERVER_TYPE_INVALID;
  std::vector<std::int64_t> shape;
  const void* data = nullptr;
  std::uint64_t byte_size = 0;
  bool is_borrowed = false;  // lies where the request has it: not copied, not to be written to
};

// What one request gets of an output of the batch.
struct Slice {
  std::size_t member = 0;
  std::vector<std::int64_t> shape;
  std::uint64_t offset = 0, byte_size = 0;  // in the batch's output
};

// Memory that grows and is kept for the next batch; 64-byte aligned. For what Gather puts together where no other memory (pinned, of a card) is wanted.
class GrowingBuffer {
 public:
  // Room for that many bytes; what was in it is lost when it had to grow. @throws std::bad_alloc
  void* Reserve(std::uint64_t byte_size);
  std::uint64_t capacity() const { return capacity_; }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::unique_ptr<void, Free> memory_;
  std::uint64_t capacity_ = 0;
};

class Batch {
 public:
  // Reads the requests; takes them over when it returns. @throws Error when the server refuses to tell; then it took nothing
  Batch(TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request** requests, std::uint32_t count, const ModelConfig& config);
  // Finish(), if that was not called.
  ~Batch();
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  // ---- The requests that take part, which are those not failed so far. Indexes stay as they are when one is failed. ----
  const std::vector<std::size_t>& members() const { return live_; }
  // Sum of the members' batch sizes (each 1 where the model does not batch).
  std::int64_t batch_size() const;
  std::int64_t batch_size(std::size_t member) const { return members_[member].batch_size; }
  TRITONBACKEND_Request* request(std::size_t member) const { return members_[member].request; }
  const std::vector<RequestInput>& inputs(std::size_t member) const { return members_[member].inputs; }
  // Null where the request has no such input.
  const RequestInput* Input(std::size_t member, const std::string& name) const;
  // Did the client of every member give up?
  bool IsCancelled() const;

  // ---- Inputs ----
  // Where Gather copies to: called with the bytes it needs.
  using Allocate = std::function<void*(std::uint64_t byte_size)>;
  // The members' inputs of that name, one after another; dims[0] summed up, or flat where the input is ragged. Borrowed where one request has it in one
  // piece that is aligned so (a power of two; 0: always copied). @throws Error
  GatheredInput Gather(const std::string& name, const Allocate& allocate, std::size_t alignment = 1) const;
  // Shape of what Gather would give. @throws Error
  std::vector<std::int64_t> GatheredShape(const std::string& name) const;

  // ---- Outputs ----
  // Asked for by any member, in the configuration's order; those it does not list come last.
  std::vector<std::string> WantedOutputs() const;
  bool Wants(std::size_t member, const std::string& output) const;
  // How an output of the batch is shared out: by the first dimension, as `batch_output` says, or whole where the model does not batch. Strings (BYTES) need
  // their data. @throws Error INTERNAL where the shape does not hold what is to be shared out
  std::vector<Slice> Share(const std::string& output, TRITONSERVER_DataType datatype, const std::vector<std::int64_t>& shape, const void* data = nullptr,
                           std::uint64_t byte_size = 0) const;
  // Memory for an output in the member's response: to be filled before Finish. NULL for 0 bytes. @throws Error
  void* OutputBuffer(std::size_t member, const std::string& name, TRITONSERVER_DataType datatype, const std::vector<std::int64_t>& shape, std::uint64_t byte_size);
  // Memory for an output of the whole batch inside the responses of all members, where that is worth it (CanJoin) and the server gives buffers that lie end to end.
  // NULL: it gave others; what was made of the responses is of no use then (DropResponses). @throws Error
  void* JoinedOutputBuffer(const std::string& name, TRITONSERVER_DataType datatype, const std::vector<Slice>& slices);
  // Do all members want equal shares of it that are large, and aligned one behind the other?
  bool CanJoin(const std::string& name, const std::vector<Slice>& slices) const;
  // Copies each member that asked for it its share.
  void Respond(const std::string& name, TRITONSERVER_DataType datatype, const std::vector<std::int64_t>& shape, const void* data, std::uint64_t byte_size);
  // As above, for memory that is not the CPU's: `copy` brings bytes of the output into a response. It may do so later, but before Finish.
  using Copy = std::function<void(void* target, std::uint64_t offset, std::uint64_t byte_size)>;
  void Respond(const std::string& name, TRITONSERVER_DataType datatype, const std::vector<std::int64_t>& shape, std::uint64_t byte_size, const Copy& copy);
  // Parameters of a member's response.
  TRITONBACKEND_Response* Response(std::size_t member);
  // Takes back the outputs made so far: a run that failed and is tried again starts anew.
  void DropResponses();

  // ---- Implicit states of sequences ----
  // Memory for the member's next state, which the server keeps; to be filled before UpdateStates. @throws Error
  void* StateBuffer(std::size_t member, const std::string& name, TRITONSERVER_DataType datatype, const std::vector<std::int64_t>& shape, std::uint64_t byte_size);
  // Does the configuration name that output as a state?
  bool IsState(const std::string& output) const;
  // Copies each member its share of an output as its next state; nothing where the output is none. @throws Error
  void KeepState(const std::string& output, TRITONSERVER_DataType datatype, const std::vector<std::int64_t>& shape, const void* data, std::uint64_t byte_size);
  // Makes the states so far the ones that the next requests of the sequences get.
  void UpdateStates();

  // ---- How it ended ----
  void Fail(std::size_t member, const Error& error);
  void FailAll(const Error& error);
  // Of the work proper: the span that statistics call compute_infer. Default: from the construction to Finish.
  void SetComputeStart(std::uint64_t nanoseconds) { compute_start_ = nanoseconds; }
  void SetComputeEnd(std::uint64_t nanoseconds) { compute_end_ = nanoseconds; }
  std::uint64_t exec_start() const { return exec_start_; }
  // Sends, reports statistics, releases. Once; logs what the server refuses.
  void Finish() noexcept;

 private:
  struct Member {
    TRITONBACKEND_Request* request = nullptr;
    TRITONBACKEND_Response* response = nullptr;
    std::int64_t batch_size = 1;
    std::vector<RequestInput> inputs;
    std::vector<std::string> outputs;
    std::optional<Error> error;
  };

  void Read(Member& member) const;
  void CheckAlike(const Member& first, const Member& member) const;
  const RequestInput& Needed(std::size_t member, const std::string& name) const;
  std::vector<std::vector<std::int64_t>> SharedShapes(const std::string& output, const std::vector<std::int64_t>& shape) const;

  TRITONBACKEND_ModelInstance* const instance_;
  const ModelConfig& config_;
  const std::uint64_t exec_start_;
  std::uint64_t compute_start_ = 0, compute_end_ = 0;
  std::vector<Member> members_;
  std::vector<std::size_t> live_;
  std::vector<TRITONBACKEND_State*> states_;
  bool is_finished_ = false;
};

// Body of TRITONBACKEND_ModelInstanceExecute: `body(Batch&)` works on the batch; what it throws fails the requests that are not failed yet.
template <class Body>
TRITONSERVER_Error* ExecuteBatch(
    TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request** requests, std::uint32_t count, const ModelConfig& config, Body&& body) noexcept {
  return Guard([&] {
    Batch batch(instance, requests, count, config);
    try {
      if (!batch.members().empty()) body(batch);
    } catch (...) {
      batch.FailAll(CurrentError());
    }
    batch.Finish();
  });
}

// An input that `batch_input` has the backend compute from the shapes of a batch: INT32 or FP32.
struct ComputedInput {
  std::string name;
  TRITONSERVER_DataType datatype = TRITONSERVER_TYPE_INT32;
  std::vector<std::int64_t> shape;
  std::vector<std::uint32_t> data;  // the bits of the elements
};

// One for each target name. @throws Error INVALID_ARG where a request lacks the source input or the kind is unknown
std::vector<ComputedInput> ComputeBatchInputs(const Batch& batch, const ModelConfig& config);

// Byte offset after `count` strings of Triton's raw form (4 bytes length, then the bytes) from `start` on. @throws Error INTERNAL where they do not end inside
std::uint64_t SkipStrings(const void* data, std::uint64_t byte_size, std::uint64_t start, std::int64_t count);

struct MemoryUse {
  TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
  std::int64_t type_id = 0;
  std::uint64_t byte_size = 0;
};
// What a model or an instance holds. @throws Error
void ReportMemory(TRITONBACKEND_Model* model, const std::vector<MemoryUse>& uses);
void ReportMemory(TRITONBACKEND_ModelInstance* instance, const std::vector<MemoryUse>& uses);

}  // namespace npu_console::kit
