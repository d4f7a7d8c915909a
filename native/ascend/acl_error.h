// AscendCL's error codes in plain words, and the check around every call.
#pragma once

#include <string>

#include "acl/acl.h"
#include "ascend/error.h"

namespace npu_console::ascend {

struct AclApi;

/** A code of AscendCL. Names and meanings: CANN's public error code tables. */
struct AclErrorInfo {
  aclError code;
  /** Without the prefix ACL_ERROR_ (RT_, GE_). */
  const char* name;
  const char* meaning;
  /** What to do next. */
  const char* advice;
  ErrorKind kind;
  FaultScope scope;
};

/** Null for a code that is not known here. */
const AclErrorInfo* FindAclError(aclError code);

/** "507010 LOST_HEARTBEAT: the card does not answer any more" */
std::string DescribeAclError(aclError code);

/**
 * Does nothing for 0.
 * @param action what was tried, with the thing it was tried on: "loading /models/a/1/model.om on device 0"
 * @throws Error with code, name, meaning, next step and what CANN itself wrote about it (aclGetRecentErrMsg of this thread)
 */
void Check(const AclApi& api, aclError code, const std::string& action);

/** The exception that Check throws. */
Error MakeError(const AclApi& api, aclError code, const std::string& action);

}  // namespace npu_console::ascend
