// The class TritonHost of the addon: host.h for JavaScript. One crossing a batch on the way in; events come back in groups, on JavaScript's own thread.
#pragma once

#include <napi.h>

namespace npu_console {

// Puts the class and the function for the metrics of backends into the exports.
void ExportTritonHost(Napi::Env env, Napi::Object exports);

}  // namespace npu_console
