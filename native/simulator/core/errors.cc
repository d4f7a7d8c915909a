#include "core/errors.h"

#include "shared/utf8.h"

namespace simulator {

namespace {

struct ThreadErrors {
  aclError last = ACL_SUCCESS;
  std::string newest;
  std::string texts;
  std::string taken;
};

ThreadErrors &Errors() {
  thread_local ThreadErrors errors;
  return errors;
}

/** EE: runtime, EH: driver and hardware, E1: model, EZ: everything that has no better name. */
const char *Family(aclError code) {
  switch (code) {
    case ACL_ERROR_RT_PARAM_INVALID: return "EE1003";
    case ACL_ERROR_RT_MEMORY_ALLOCATION: return "EL0004";
    case ACL_ERROR_UNINITIALIZE: case ACL_ERROR_RT_CONTEXT_NULL: case ACL_ERROR_RT_STREAM_CONTEXT: return "EE1001";
    default: return code / 1000 == 507 ? "EE9999" : "EZ9999";
  }
}

}  // namespace

aclError Fail(aclError code, const std::string &text) {
  ThreadErrors &errors = Errors();
  errors.last = code;
  errors.newest = std::string(Family(code)) + ": [simulated] " + text + " (" + std::to_string(code) + ")";
  errors.texts = errors.newest + "\n" + errors.texts;
  // A caller that never reads them must not fill the memory.
  errors.texts = npu_console::Utf8Prefix(errors.texts, 8192);
  return code;
}

const char *TakeErrorTexts() {
  ThreadErrors &errors = Errors();
  if (errors.texts.empty()) return nullptr;
  errors.taken.swap(errors.texts);
  errors.texts.clear();
  return errors.taken.c_str();
}

aclError LastError(bool reset) {
  ThreadErrors &errors = Errors();
  const aclError last = errors.last;
  if (reset) errors.last = ACL_SUCCESS;
  return last;
}

std::string NewestErrorText() { return Errors().newest; }

}  // namespace simulator
