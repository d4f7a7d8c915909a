#include "ascend/ge_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <mutex>

#include "ascend/dynamic_library.h"

namespace npu_console::ascend {

namespace {

/** Opened for all to see, since the bridge is not linked against them. Newer packages split some of them up. */
void OpenGlobally(const std::string& directory) {
  constexpr int FLAGS = RTLD_NOW | RTLD_GLOBAL;
  const auto open = [&](const char* purpose, std::vector<std::vector<std::string>> alternatives) {
    DynamicLibraries::Open(purpose, directory, alternatives, FLAGS);
  };
  open("graphs (GE)", {{"libgraph_base.so", "libgraph.so"}, {"libgraph.so"}});
  open("the common part of GE", {{"libge_common_base.so"}, {"libge_common.so"}});
  open("the graph compiler (GE)", {{"libge_compiler.so"}});
  open("the ONNX parser (GE)", {{"libfmk_onnx_parser.so"}});
  open("the TensorFlow parser (GE)", {{"libfmk_parser.so"}});
  open("sessions of the graph engine (GE)", {{"libge_runner.so"}});
}

const NpuGeBridge& OpenBridge(const std::string& directory, bool is_simulated) {
  const auto file = [&](const char* name) { return (std::filesystem::path(directory) / name).string(); };
  std::vector<std::string> candidates;
  if (!is_simulated) candidates.push_back(file("libnpu_ge_bridge_cann.so"));
  candidates.push_back(file("libnpu_ge_bridge.so"));
  if (std::none_of(candidates.begin(), candidates.end(), [](const std::string& path) { return std::filesystem::exists(path); })) {
    throw Error(ErrorKind::Unsupported, "The bridge to the graph engine (GE), libnpu_ge_bridge.so, is not in " + directory +
                                            ": it is a part of the backend and lies beside libtriton_npu_ge.so or two folders above it. Install the backend whole, or build it (npm ci)");
  }
  std::string reasons;
  for (const std::string& path : candidates) {
    if (path != candidates.back() && !std::filesystem::exists(path)) continue;
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      reasons += std::string("\n  ") + dlerror();
      continue;
    }
    const auto ask = reinterpret_cast<decltype(&npu_ge_bridge)>(dlsym(handle, "npu_ge_bridge"));
    const char* problem = "it does not export npu_ge_bridge";
    const NpuGeBridge* const bridge = ask == nullptr ? nullptr : ask(NPU_GE_BRIDGE_VERSION, &problem);
    if (bridge != nullptr) return *bridge;
    reasons += "\n  " + path + ": " + problem;
  }
  throw Error(ErrorKind::Unsupported,
              "The bridge to the graph engine (GE) cannot be used with this CANN; CANN 8.0.RC3 or later with its toolkit is needed. Tried:" + reasons);
}

}  // namespace

const GeLibrary& GeLibrary::Load(const std::string& cann_directory, const std::string& bridge_directory) {
  static std::mutex mutex;
  static const GeLibrary* loaded = nullptr;
  static std::string from;
  const std::lock_guard lock(mutex);
  if (loaded != nullptr) {
    if (from != cann_directory) {
      throw Error(ErrorKind::InvalidArgument, "CANN's graph engine is open already from '" + from + "': a process cannot use a second one from '" + cann_directory +
                                                  "' (cann-library-directory)");
    }
    return *loaded;
  }
  const AclApi& acl = AclApi::Load(cann_directory);
  OpenGlobally(cann_directory);
  const NpuGeBridge& bridge = OpenBridge(bridge_directory, acl.is_simulated);
  from = cann_directory;
  loaded = new GeLibrary{acl, bridge, !acl.is_simulated && std::string(bridge.headers) == "own declarations"};
  return *loaded;
}

Error GeLibrary::Failure(const std::string& action, uint32_t status) const {
  std::string text = bridge.error_text();
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  // GE tells failures of the runtime below in its text only; codes of AscendCL have six digits.
  const AclErrorInfo* cause = nullptr;
  for (size_t at = 0; at + 6 <= text.size(); ++at) {
    const auto is_digit = [&](size_t place) { return place < text.size() && text[place] >= '0' && text[place] <= '9'; };
    if (!is_digit(at) || (at > 0 && (is_digit(at - 1) || text[at - 1] == 'E'))) continue;
    size_t length = 1;
    while (is_digit(at + length)) ++length;
    if (length != 6) continue;
    const AclErrorInfo* const found = FindAclError(std::stoi(text.substr(at, 6)));
    if (found != nullptr && (cause == nullptr || found->scope > cause->scope)) cause = found;
  }
  if (text.empty()) {
    return Error(ErrorKind::Internal, action + " failed: GE gave status " + std::to_string(status) +
                                          " and no reason. Next: ASCEND_GLOBAL_LOG_LEVEL=1 with ASCEND_SLOG_PRINT_TO_STDOUT=1 makes CANN say more");
  }
  const std::string said = ". CANN says: " + text;
  if (cause == nullptr) {
    return Error(ErrorKind::Internal, action + " failed. Next: correct the option or the operator that CANN names, in the parameters of the model or in its file" + said);
  }
  return Error(cause->kind, action + " failed with " + DescribeAclError(cause->code) + ". Next: " + cause->advice + said, cause->code, cause->scope);
}

}  // namespace npu_console::ascend
