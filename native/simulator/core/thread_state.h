// What the runtime remembers of each thread that calls it.
#pragma once

#include <string>

#include "core/stream.h"

namespace simulator {

struct ThreadState {
  int device = -1;
  Handle context = 0;
  Handle limitStream = 0;
};

inline ThreadState &Thread() {
  thread_local ThreadState state;
  return state;
}

/** How texts name a device. */
inline std::string Id(int device) { return "device " + std::to_string(device); }

}  // namespace simulator
