// GE, opened at run time: CANN's libraries, then libnpu_ge_bridge.so, which speaks their C++ (ge_bridge.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ascend/acl_api.h"
#include "ascend/acl_error.h"
#include "ascend/ge_bridge.h"

namespace npu_console::ascend {

/** Options of GE, by key. */
using GeOptionMap = std::map<std::string, std::string>;

/** Borrows from a map that has to live as long. */
class GeOptionList {
 public:
  explicit GeOptionList(const GeOptionMap& options) {
    for (const auto& [key, value] : options) items_.push_back({key.c_str(), value.c_str()});
  }
  NpuGeOptions get() const { return {items_.data(), items_.size()}; }

 private:
  std::vector<NpuGeOption> items_;
};

/** The graph engine and the runtime below it. One per process: CANN's libraries are opened once, for all to see, and stay. */
struct GeLibrary {
  const AclApi& acl;
  const NpuGeBridge& bridge;
  /** Compiled against own declarations although the CANN is Huawei's: works as far as the two agree. */
  bool is_unproven = false;

  /**
   * @param cann_directory of CANN's libraries, absolute; empty: where the loader looks by itself. The first call decides
   * @param bridge_directory where libnpu_ge_bridge.so lies, and libnpu_ge_bridge_cann.so on machines with CANN's headers, which is preferred there
   * @throws Error Unsupported that names the library or symbol that is missing
   */
  static const GeLibrary& Load(const std::string& cann_directory, const std::string& bridge_directory);

  /**
   * The exception for a failed call: what was tried, GE's own text, and what to do. The scope is Device where the text tells of a lost card.
   * Call it on the thread of the failed call, at once.
   */
  Error Failure(const std::string& action, uint32_t status) const;
};

}  // namespace npu_console::ascend
