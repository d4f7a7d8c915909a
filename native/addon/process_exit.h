// The end of the process without the help of its threads.
#pragma once

namespace npu_console {

// Writes what the C streams still hold and ends the process: no destructor runs, no thread is waited for.
[[noreturn]] void ExitAtOnce(int code);

}  // namespace npu_console
