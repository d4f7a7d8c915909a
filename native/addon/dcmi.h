// What the driver's management library says about the cards, for JavaScript.
#pragma once

#include <napi.h>

namespace npu_console {

// Adds readDcmi(directory, callback).
void ExportDcmi(Napi::Env env, Napi::Object exports);

}  // namespace npu_console
