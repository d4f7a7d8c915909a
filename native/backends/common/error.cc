#include "common/error.h"

#include <cstring>
#include <new>

namespace npu_console::kit {

void Must(TRITONSERVER_Error* error) {
  if (error == nullptr) return;
  Error thrown(TRITONSERVER_ErrorCode(error), TRITONSERVER_ErrorMessage(error));
  TRITONSERVER_ErrorDelete(error);
  throw thrown;
}

Error CurrentError() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Unavailable("the machine has no memory left for this: load fewer models, or give the machine more");
  } catch (const std::exception& exception) {
    return Internal(exception.what());
  } catch (...) {
    return Internal("something that is no exception was thrown");
  }
}

void Log(TRITONSERVER_LogLevel level, const char* file, int line, const std::string& message) noexcept {
  const char* const slash = std::strrchr(file, '/');
  // A log that refuses an entry has nobody to tell.
  TRITONSERVER_ErrorDelete(TRITONSERVER_LogMessage(level, slash == nullptr ? file : slash + 1, line, message.c_str()));
}

}  // namespace npu_console::kit
