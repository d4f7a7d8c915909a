// Calls into CANN that may never come back, since a card can hang: each runs on a thread of its own and is waited for with a limit.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "ascend/error.h"

namespace npu_console::ascend {

/**
 * Runs the body on a thread of its own and waits. What it throws is thrown here.
 * @param what for the message: "loading model 'x' on device 0"
 * @param body owns all it touches (shared pointers, copies): when the limit is over it goes on by itself, and nobody waits for it
 * @throws Error Unavailable of scope Device when the limit is over
 */
void RunSupervised(const std::string& what, std::chrono::milliseconds limit, std::function<void()> body);

/**
 * Gives the calling thread, and the threads it starts from here on, a current directory of their own; all others keep theirs. GE writes files of its own
 * into the current directory, which may be anything, a model repository for instance.
 * @param directory is made where it is not there
 * @returns why it could not be done; empty: done
 */
std::string EnterPrivateDirectory(const std::string& directory);

}  // namespace npu_console::ascend
