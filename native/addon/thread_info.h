// What the operating system knows about the calling thread.
#pragma once

#include <cstdint>
#include <string>

namespace npu_console {

// Names the calling thread, as `top -H` and /proc/<pid>/task/<tid>/comm show it. The kernel keeps 15 bytes: longer names are cut.
void NameCurrentThread(const std::string& name);

// Processor time the calling thread has used so far.
std::int64_t CurrentThreadCpuNanoseconds();

}  // namespace npu_console
