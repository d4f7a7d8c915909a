// Memory of files that this process shares with the processes of Python models.
#pragma once

#include <napi.h>

namespace npu_console {

void ExportSharedMapping(Napi::Env env, Napi::Object exports);

}  // namespace npu_console
