// What goes wrong between us and CANN, as one exception. Backends turn it into the error type of their own interface.
#pragma once

#include <stdexcept>
#include <string>

namespace npu_console::ascend {

/** Whose turn it is to act; maps one to one to Triton's error codes of the same names. */
enum class ErrorKind { InvalidArgument, NotFound, Unsupported, Unavailable, Internal };

/** How much is unusable afterwards. */
enum class FaultScope {
  Call,    // nothing: the next call may succeed
  Stream,  // the stream: what it holds is lost, a new one works
  Device,  // the card: everything on it has to be set up again (Device::Acquire does it)
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message, int code = 0, FaultScope scope = FaultScope::Call)
      : std::runtime_error(message), kind_(kind), code_(code), scope_(scope) {}

  ErrorKind kind() const { return kind_; }
  /** CANN's code; 0 where no call of CANN said no. */
  int code() const { return code_; }
  FaultScope scope() const { return scope_; }

 private:
  ErrorKind kind_;
  int code_;
  FaultScope scope_;
};

}  // namespace npu_console::ascend
