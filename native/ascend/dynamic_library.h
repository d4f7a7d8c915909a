// Opens shared libraries that may be absent, and says by name what was looked for and what is missing.
#pragma once

#include <string>
#include <vector>

#include "ascend/error.h"

namespace npu_console::ascend {

/** Libraries that belong together. They stay open until the process ends: CANN's leave threads and handlers behind that outlive a dlclose. */
class DynamicLibraries {
 public:
  /**
   * Opens all libraries of the first alternative that has them all.
   * @param purpose what they are for, for the message: "CANN's runtime"
   * @param directory absolute; empty: where the loader looks by itself (LD_LIBRARY_PATH, ld.so.conf). Nowhere else when it is given.
   * @param alternatives file names, e.g. {{"libacl_rt.so", "libacl_mdl.so"}, {"libascendcl.so"}}
   * @param flags of dlopen
   * @throws Error Unsupported, naming every candidate with the loader's reason
   */
  static DynamicLibraries Open(const std::string& purpose, const std::string& directory, const std::vector<std::vector<std::string>>& alternatives, int flags);

  /** The symbol in the first library that has it, else null. Also looks into what the libraries themselves depend on. */
  void* Find(const char* symbol) const;
  /** @throws Error Unsupported that names symbol and libraries */
  void* Get(const char* symbol) const;

  /** Files as the loader found them. */
  const std::vector<std::string>& paths() const { return paths_; }

 private:
  std::vector<void*> handles_;
  std::vector<std::string> paths_;
};

}  // namespace npu_console::ascend
