// Errors of our backends: exceptions inside, TRITONSERVER_Error outside. No exception leaves an entry point (Guard).
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "triton/core/tritonbackend.h"

namespace npu_console::kit {

class Error : public std::exception {
 public:
  Error(TRITONSERVER_Error_Code code, std::string message) : code_(code), message_(std::move(message)) {}
  TRITONSERVER_Error_Code code() const { return code_; }
  const std::string& message() const { return message_; }
  const char* what() const noexcept override { return message_.c_str(); }
  // A new error object, the caller's.
  TRITONSERVER_Error* ToTriton() const { return TRITONSERVER_ErrorNew(code_, message_.c_str()); }

 private:
  TRITONSERVER_Error_Code code_;
  std::string message_;
};

inline Error InvalidArgument(std::string message) { return {TRITONSERVER_ERROR_INVALID_ARG, std::move(message)}; }
inline Error Internal(std::string message) { return {TRITONSERVER_ERROR_INTERNAL, std::move(message)}; }
inline Error Unavailable(std::string message) { return {TRITONSERVER_ERROR_UNAVAILABLE, std::move(message)}; }
inline Error Unsupported(std::string message) { return {TRITONSERVER_ERROR_UNSUPPORTED, std::move(message)}; }

// Throws what an API call returned, and deletes it.
void Must(TRITONSERVER_Error* error);

// The exception that is being handled, as an Error. Only inside a catch block.
Error CurrentError();

// Runs the body of an entry point; what it throws is what the entry point returns.
template <class Body>
TRITONSERVER_Error* Guard(Body&& body) noexcept {
  try {
    std::forward<Body>(body)();
    return nullptr;
  } catch (...) {
    return CurrentError().ToTriton();
  }
}

// To the server's log; for the current thread's model where the server knows it. Never throws.
void Log(TRITONSERVER_LogLevel level, const char* file, int line, const std::string& message) noexcept;

}  // namespace npu_console::kit

#define KIT_LOG(level, message)                                                                                                         \
  do {                                                                                                                                  \
    if (TRITONSERVER_LogIsEnabled(TRITONSERVER_LOG_##level)) ::npu_console::kit::Log(TRITONSERVER_LOG_##level, __FILE__, __LINE__, message); \
  } while (false)
