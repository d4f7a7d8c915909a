// Optimized models on disk: ONNX Runtime's work on a graph, done once for a file, a level, a release and a kind of processor.
#pragma once

#include <filesystem>
#include <string>

namespace npu_console::onnxruntime {

class OptimizationCache {
 public:
  // The cache's file for the model as it lies on disk now (size and time of change). @throws std::filesystem::filesystem_error, kit::Error
  OptimizationCache(const std::string& directory, const std::string& model_path, int graph_level, const std::string& version);
  bool IsFilled() const;
  std::string file() const { return file_.string(); }
  // A file beside it to write to, of this process and thread alone.
  std::string Begin() const;
  // Makes it the cache's file, at once for all readers. @throws kit::Error
  void Commit(const std::string& fresh) const;
  void Abandon(const std::string& fresh) const noexcept;

 private:
  std::filesystem::path file_;
};

}  // namespace npu_console::onnxruntime
