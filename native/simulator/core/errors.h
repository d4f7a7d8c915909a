// The last error and the detailed texts of the calling thread.
#pragma once

#include <string>

#include "acl/acl_rt.h"

namespace simulator {

/** Records a failure of the calling thread and gives the code back, so that a caller can `return Fail(...)`. */
aclError Fail(aclError code, const std::string &text);
/** Newest first; empty when there is none; clears them. Valid until the thread's next call. */
const char *TakeErrorTexts();
aclError LastError(bool reset);
/** Code of the newest failure with its text, kept for a caller that reports in another way (GE). */
std::string NewestErrorText();

}  // namespace simulator
