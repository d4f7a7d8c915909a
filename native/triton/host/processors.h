// Binding of threads to processors, as a host policy asks for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "values.h"

namespace npu_console::triton {

// The calling thread runs on these only from now on, and so do the threads that it starts; without any it is left alone. INVALID_ARG where the process may not use
// each of them: a thread that ran on fewer, or anywhere, would not be what the policy asks for. `policy`: its name, for the message.
ErrorPtr BindCurrentThread(const std::vector<std::uint32_t>& processors, const std::string& policy);

}  // namespace npu_console::triton
