// A session of ONNX Runtime with what its model says about its tensors, and the options it is made with.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/model_config.h"
#include "common/options.h"
#include "onnxruntime/ort_library.h"

namespace npu_console::onnxruntime {

// The library's environment: one of the process, made by the first backend and never freed.
struct Environment {
  const OrtApi* api = nullptr;
  OrtEnv* handle = nullptr;
  OrtAllocator* allocator = nullptr;  // of strings that the library hands out
  OrtMemoryInfo* cpu_memory = nullptr;
  bool has_global_threads = false;
};

// Opens the library that the setting `library-path` names (see OpenOrt). Settings `enable-global-threadpool`, `intra_op_thread_count`, `inter_op_thread_count`.
// @throws kit::Error
const Environment& MakeEnvironment(const kit::BackendSettings& settings);

// What a configuration can set; what is absent is ONNX Runtime's default.
struct SessionSettings {
  std::optional<int> intra_op_threads, inter_op_threads;
  bool is_parallel = false;
  std::optional<bool> memory_arena, memory_pattern;
  bool uses_global_threads = false;
  int graph_level = 99;        // 1 basic, 2 extended, 99 all
  std::string profile_prefix;  // empty: no profiling
  std::string cache_directory;  // of optimized models; empty: none
  std::vector<std::pair<std::string, std::string>> entries;  // session.* and optimization.* of the parameters, as they are
  std::string arena_shrinkage;  // memory.enable_memory_arena_shrinkage
};

// @throws kit::Error INVALID_ARG that names the parameter
SessionSettings ReadSessionSettings(const kit::ModelConfig& config, const kit::BackendSettings& settings, const Environment& environment);

struct TensorInfo {
  std::string name;
  TRITONSERVER_DataType datatype = TRITONSERVER_TYPE_INVALID;
  int onnx_type = 0;
  std::vector<std::int64_t> dims;      // -1: not fixed
  std::vector<std::string> dim_names;  // "": none
};

class Session {
 public:
  // Loads the model on the calling thread; threads that the session starts inherit its processors. @throws OrtError, kit::Error
  Session(const Environment& environment, const std::string& model_path, const std::string& log_id, const SessionSettings& settings);

  OrtSession* handle() const { return session_.get(); }
  const Environment& environment() const { return environment_; }
  const std::vector<TensorInfo>& inputs() const { return inputs_; }
  const std::vector<TensorInfo>& outputs() const { return outputs_; }
  const TensorInfo* Input(const std::string& name) const;
  const TensorInfo* Output(const std::string& name) const;
  // Threads that work on a node, where that is known; from the optimization cache or not.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void Load(const std::string& path, const std::string& log_id, const SessionSettings& settings, int graph_level, const std::string& write_optimized);
  void LoadThroughCache(const std::string& path, const std::string& log_id, const SessionSettings& settings);
  std::vector<TensorInfo> Describe(bool inputs) const;

  const Environment& environment_;
  Owned<OrtSession> session_;
  std::vector<TensorInfo> inputs_, outputs_;
  std::vector<std::string> notes_;
};

// Element type and dims of a value that is a tensor.
struct ValueInfo {
  int onnx_type = 0;
  std::vector<std::int64_t> shape;
};
// @throws kit::Error INTERNAL where it is no tensor
ValueInfo Describe(const OrtApi& api, const std::string& name, const OrtValue* value);

}  // namespace npu_console::onnxruntime
