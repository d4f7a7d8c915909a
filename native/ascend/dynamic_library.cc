#include "ascend/dynamic_library.h"

#include <dlfcn.h>
#include <link.h>

namespace npu_console::ascend {

namespace {

std::string PathOf(void* handle, const std::string& asked) {
  link_map* map = nullptr;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && map->l_name != nullptr && map->l_name[0] != 0 ? map->l_name : asked;
}

std::string Joined(const std::vector<std::string>& parts, const char* separator) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : separator) + part;
  return text;
}

}  // namespace

DynamicLibraries DynamicLibraries::Open(const std::string& purpose, const std::string& directory, const std::vector<std::vector<std::string>>& alternatives,
                                        int flags) {
  std::vector<std::string> reasons;
  for (const auto& names : alternatives) {
    DynamicLibraries libraries;
    for (const std::string& name : names) {
      const std::string path = directory.empty() ? name : directory + "/" + name;
      void* handle = dlopen(path.c_str(), flags);
      if (handle == nullptr) {
        const char* reason = dlerror();
        reasons.push_back(path + " (" + (reason == nullptr ? "no reason given" : reason) + ")");
        break;
      }
      libraries.handles_.push_back(handle);
      libraries.paths_.push_back(PathOf(handle, path));
    }
    if (libraries.handles_.size() == names.size()) return libraries;
  }
  throw Error(ErrorKind::Unsupported,
              purpose + " cannot be opened. Tried: " + Joined(reasons, "; ") +
                  (directory.empty() ? ". Install CANN and start the server with the environment of its set_env.sh; npu-console doctor shows what was found"
                                     : ". Set cann-library-directory to the lib64 folder of an installed CANN"));
}

void* DynamicLibraries::Find(const char* symbol) const {
  for (void* handle : handles_) {
    if (void* address = dlsym(handle, symbol)) return address;
  }
  return nullptr;
}

void* DynamicLibraries::Get(const char* symbol) const {
  if (void* address = Find(symbol)) return address;
  throw Error(ErrorKind::Unsupported, "the function " + std::string(symbol) + " is missing in " + Joined(paths_, ", ") +
                                          ": this CANN is older than what is needed, or two versions are mixed in LD_LIBRARY_PATH");
}

}  // namespace npu_console::ascend
