// What the backends of the tests share: errors as exceptions inside, as the API wants them outside.
#pragma once

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "triton/core/tritonbackend.h"

namespace fixture {

inline void Must(TRITONSERVER_Error* error) {
  if (error == nullptr) return;
  const std::string message = std::string(TRITONSERVER_ErrorCodeString(error)) + ": " + TRITONSERVER_ErrorMessage(error);
  TRITONSERVER_ErrorDelete(error);
  throw std::runtime_error(message);
}

// Runs the body of an entry point; what it throws is what the entry point returns.
template <class Body>
TRITONSERVER_Error* EntryPoint(Body body) {
  try {
    body();
    return nullptr;
  } catch (const std::exception& exception) {
    return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, exception.what());
  }
}

inline std::string Json(TRITONSERVER_Message* message) {
  const char* base = nullptr;
  std::size_t byte_size = 0;
  Must(TRITONSERVER_MessageSerializeToJson(message, &base, &byte_size));
  return std::string(base, byte_size);
}

inline void Log(TRITONSERVER_LogLevel level, const std::string& message) {
  if (TRITONSERVER_LogIsEnabled(level)) Must(TRITONSERVER_LogMessage(level, __FILE__, __LINE__, message.c_str()));
}

// A request's parameter of type STRING; empty where it has none.
inline std::string Parameter(TRITONBACKEND_Request* request, const std::string& wanted) {
  std::uint32_t count = 0;
  Must(TRITONBACKEND_RequestParameterCount(request, &count));
  for (std::uint32_t index = 0; index < count; ++index) {
    const char* key = nullptr;
    TRITONSERVER_ParameterType type;
    const void* value = nullptr;
    Must(TRITONBACKEND_RequestParameter(request, index, &key, &type, &value));
    if (key == wanted && type == TRITONSERVER_PARAMETER_STRING) return static_cast<const char*>(value);
  }
  return "";
}

// A response with one output of INT32 numbers.
inline void AddNumbers(TRITONBACKEND_Response* response, const char* name, const std::vector<std::int32_t>& numbers) {
  const std::int64_t shape[] = {static_cast<std::int64_t>(numbers.size())};
  TRITONBACKEND_Output* output = nullptr;
  Must(TRITONBACKEND_ResponseOutput(response, &output, name, TRITONSERVER_TYPE_INT32, shape, 1));
  void* buffer = nullptr;
  TRITONSERVER_MemoryType memory_type = TRITONSERVER_MEMORY_CPU_PINNED;
  std::int64_t memory_type_id = 0;
  Must(TRITONBACKEND_OutputBuffer(output, &buffer, numbers.size() * sizeof(std::int32_t), &memory_type, &memory_type_id));
  if (memory_type != TRITONSERVER_MEMORY_CPU) throw std::runtime_error("not CPU memory");
  if (!numbers.empty()) std::memcpy(buffer, numbers.data(), numbers.size() * sizeof(std::int32_t));
}

inline std::vector<std::int32_t> Numbers(TRITONBACKEND_Request* request, const char* name) {
  TRITONBACKEND_Input* input = nullptr;
  Must(TRITONBACKEND_RequestInput(request, name, &input));
  std::uint64_t byte_size = 0;
  std::uint32_t buffers = 0;
  Must(TRITONBACKEND_InputProperties(input, nullptr, nullptr, nullptr, nullptr, &byte_size, &buffers));
  std::vector<std::int32_t> numbers(byte_size / sizeof(std::int32_t));
  auto* target = reinterpret_cast<char*>(numbers.data());
  for (std::uint32_t index = 0; index < buffers; ++index) {
    const void* buffer = nullptr;
    std::uint64_t size = 0;
    TRITONSERVER_MemoryType memory_type = TRITONSERVER_MEMORY_GPU;
    std::int64_t memory_type_id = 0;
    Must(TRITONBACKEND_InputBuffer(input, index, &buffer, &size, &memory_type, &memory_type_id));
    std::memcpy(target, buffer, size);
    target += size;
  }
  return numbers;
}

}  // namespace fixture
