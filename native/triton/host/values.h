// The small objects of the API that know nothing of a host: errors, JSON messages, parameters, buffer attributes, memory.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host.h"
#include "triton/core/tritonbackend.h"

struct TRITONSERVER_Error {
  TRITONSERVER_Error_Code code;
  std::string message;
};

struct TRITONSERVER_Message {
  std::string json;
};

struct TRITONSERVER_Parameter {
  std::string name;
  TRITONSERVER_ParameterType type = TRITONSERVER_PARAMETER_STRING;
  std::string bytes;
  std::int64_t integer = 0;
  bool boolean = false;
  double real = 0;

  // What the API hands out: the bytes themselves, or the address of the number.
  const void* Value() const {
    switch (type) {
      case TRITONSERVER_PARAMETER_INT:
        return &integer;
      case TRITONSERVER_PARAMETER_BOOL:
        return &boolean;
      case TRITONSERVER_PARAMETER_DOUBLE:
        return &real;
      default:
        return bytes.c_str();
    }
  }
};

struct TRITONSERVER_BufferAttributes {
  TRITONSERVER_MemoryType memory_type = TRITONSERVER_MEMORY_CPU;
  std::int64_t memory_type_id = 0;
  std::size_t byte_size = 0;
  void* cuda_ipc_handle = nullptr;
};

namespace npu_console::triton {

using Parameter = TRITONSERVER_Parameter;

class BatchMemory;

// Owns an error that came from the API or goes to it.
struct ErrorDeleter {
  void operator()(TRITONSERVER_Error* error) const { delete error; }
};
using ErrorPtr = std::unique_ptr<TRITONSERVER_Error, ErrorDeleter>;

TRITONSERVER_Error* MakeError(TRITONSERVER_Error_Code code, std::string message);
TRITONSERVER_Error* InvalidArgument(std::string message);
// What Triton says of an index that is too large: "out of bounds index 3: request has 2 inputs".
// @param owner with its verb: "request has"
// @param prefix of the whole message
TRITONSERVER_Error* OutOfBounds(std::uint32_t index, const std::string& owner, std::size_t count, const char* what, const std::string& prefix = "");
// For a function that this server has, by name, only so that libraries which refer to it can be opened.
TRITONSERVER_Error* Unsupported(const char* function);
const char* ErrorCodeName(TRITONSERVER_Error_Code code);

// For an argument that is NULL and must not be.
TRITONSERVER_Error* NullArgument(const char* function, const char* argument);

// At the top of API functions.
#define TRITONHOST_REQUIRE(argument) \
  if ((argument) == nullptr) return ::npu_console::triton::NullArgument(__func__, #argument)

Parameter ToParameter(const TritonHostParameter& parameter);

// Aligned for any vector unit and for direct transfers.
struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, FreeMemory>;
constexpr std::uint64_t kMemoryAlignment = 64;
// Throws std::bad_alloc.
Memory AllocateMemory(std::uint64_t byte_size);

// A tensor in memory of the host's own: outputs of responses, states, answers to a backend's requests.
struct OwnedTensor {
  std::string name;
  TRITONSERVER_DataType datatype = TRITONSERVER_TYPE_INVALID;
  std::vector<std::int64_t> shape;
  // Shared where it is a piece of a larger block, or with whoever keeps the data beyond this.
  std::shared_ptr<void> memory;
  TRITONSERVER_BufferAttributes attributes;  // holds the size
  bool is_allocated = false;

  // A buffer for the caller to fill; ALREADY_EXISTS on the second call. NULL where the size is 0. Always CPU memory, whatever the wish. `batch`: whose memory is
  // looked to first; may be null.
  TRITONSERVER_Error* Allocate(
      const char* kind, BatchMemory* batch, std::uint64_t byte_size, void** buffer, TRITONSERVER_MemoryType* memory_type, std::int64_t* memory_type_id);
};

// Of the steady clock.
std::uint64_t NowNanoseconds();

// Whether the text is one JSON value and nothing else (RFC 8259). Nesting deeper than 512 is refused.
bool IsJson(std::string_view text);
// With quotes.
std::string JsonString(std::string_view text);

}  // namespace npu_console::triton
