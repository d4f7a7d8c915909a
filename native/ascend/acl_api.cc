#include "ascend/acl_api.h"

#include <dlfcn.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

#include "ascend/acl_error.h"
#include "ascend/dynamic_library.h"

namespace npu_console::ascend {

namespace {

/** What only the simulated libraries export. */
constexpr const char* SIMULATOR_MARK = "npu_console_simulated_cann";

template <typename Function>
void Assign(Function& member, void* address) {
  member = reinterpret_cast<Function>(address);
}

std::unique_ptr<AclApi> Open(const std::string& directory) {
  const DynamicLibraries libraries =
      DynamicLibraries::Open("AscendCL (CANN)", directory, {{"libacl_rt.so", "libacl_mdl.so"}, {"libascendcl.so"}}, RTLD_NOW | RTLD_LOCAL);
  auto api = std::make_unique<AclApi>();
#define ASCEND_REQUIRED(name) Assign(api->name, libraries.Get(#name));
#define ASCEND_OPTIONAL(name) Assign(api->name, libraries.Find(#name));
  ASCEND_REQUIRED_FUNCTIONS(ASCEND_REQUIRED)
  ASCEND_OPTIONAL_FUNCTIONS(ASCEND_OPTIONAL)
#undef ASCEND_REQUIRED
#undef ASCEND_OPTIONAL
  api->libraries = libraries.paths();
  api->is_simulated = libraries.Find(SIMULATOR_MARK) != nullptr;
  return api;
}

}  // namespace

const AclApi& AclApi::Load(const std::string& directory) {
  static std::mutex mutex;
  // Never freed: threads of CANN outlive static destructors.
  static auto& tables = *new std::map<std::string, std::unique_ptr<AclApi>>();
  const std::lock_guard lock(mutex);
  auto& table = tables[directory];
  if (table == nullptr) table = Open(directory);
  return *table;
}

void AclApi::Initialize() const {
  static std::mutex mutex;
  static auto& initialized = *new std::map<const AclApi*, bool>();
  const std::lock_guard lock(mutex);
  if (initialized[this]) return;
  const aclError code = aclInit(nullptr);
  if (code != ACL_ERROR_REPEAT_INITIALIZE) {
    Check(*this, code, "initialising AscendCL (aclInit)");
  } else if (aclGetRecentErrMsg != nullptr) {
    aclGetRecentErrMsg();  // another backend of this process did it: no error to tell of later
  }
  initialized[this] = true;
}

std::vector<std::string> AclApi::MissingFeatures() const {
  std::vector<std::string> missing;
  if (aclrtSetStreamResLimit == nullptr || aclrtUseStreamResInCurrentThread == nullptr) {
    missing.emplace_back("core limits cannot be set at run time: they come with CANN 8.3");
  }
  if (aclrtSynchronizeStreamWithTimeout == nullptr) missing.emplace_back("execution timeouts are checked by polling: CANN cannot wait with a limit");
  if (aclCreateTensorDesc == nullptr || aclmdlSetDatasetTensorDesc == nullptr || aclmdlGetDatasetTensorDesc == nullptr) {
    missing.emplace_back("models with free shapes cannot run");
  }
  if (aclmdlGetDescFromFile == nullptr) missing.emplace_back("an .om file is described only after loading it onto a card");
  return missing;
}

std::string AclApi::Version() const {
  // The first line of version.cfg in the package's folder is its version; lib64 is in that folder, or in one of the processor's below it.
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(aclInit), &info) != 0 && info.dli_fname != nullptr) {
    std::error_code ignored;
    std::filesystem::path folder = std::filesystem::weakly_canonical(info.dli_fname, ignored).parent_path();
    for (int level = 0; level < 2; level++) {
      folder = folder.parent_path();
      std::ifstream file(folder / "version.cfg");
      std::string line;
      if (!file || !std::getline(file, line)) continue;
      const size_t begin = line.find_first_of("0123456789");
      if (begin != std::string::npos) return line.substr(begin, line.find_first_of("] \t\r:", begin) - begin);
    }
  }
  if (aclsysGetVersionStr != nullptr) {
    char package[] = "runtime";
    char version[256] = "";
    if (aclsysGetVersionStr(package, version) == ACL_SUCCESS && version[0] != 0) return version;
  }
  int32_t numbers[3] = {};
  if (aclrtGetVersion != nullptr && aclrtGetVersion(&numbers[0], &numbers[1], &numbers[2]) == ACL_SUCCESS) {
    return "AscendCL " + std::to_string(numbers[0]) + "." + std::to_string(numbers[1]) + "." + std::to_string(numbers[2]);
  }
  return "";
}

}  // namespace npu_console::ascend
