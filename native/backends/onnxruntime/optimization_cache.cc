#include "onnxruntime/optimization_cache.h"

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <fstream>

#include "common/error.h"

namespace npu_console::onnxruntime {

namespace {

// An optimized graph may hold weights laid out for the processor it was made on.
std::string ProcessorName() {
  std::ifstream info("/proc/cpuinfo");
  std::string line, name;
  while (std::getline(info, line)) {
    if (line.starts_with("model name") || line.starts_with("flags") || line.starts_with("Features") || line.starts_with("CPU part")) name += line;
    if (line.empty()) break;
  }
  return name;
}

std::string Fingerprint(const std::string& text) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char character : text) hash = (hash ^ static_cast<unsigned char>(character)) * 1099511628211U;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

}  // namespace

OptimizationCache::OptimizationCache(const std::string& directory, const std::string& model_path, int graph_level, const std::string& version) {
  const std::filesystem::path folder(directory);
  if (!folder.is_absolute()) throw kit::InvalidArgument("optimization_cache_directory must be an absolute path, got '" + directory + "'");
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) throw kit::Unavailable("optimization_cache_directory '" + directory + "' could not be made: " + problem.message());
  const std::filesystem::path model = std::filesystem::canonical(model_path);
  const auto changed = std::filesystem::last_write_time(model).time_since_epoch().count();
  const std::string key = model.string() + '|' + std::to_string(std::filesystem::file_size(model)) + '|' + std::to_string(changed) + '|' + std::to_string(graph_level) + '|' +
                          version + '|' + ProcessorName();
  file_ = folder / (model.stem().string() + "-" + Fingerprint(key) + ".onnx");
}

bool OptimizationCache::IsFilled() const { return std::filesystem::exists(file_); }

std::string OptimizationCache::Begin() const {
  static std::atomic<unsigned> count{0};
  return file_.string() + "." + std::to_string(getpid()) + "-" + std::to_string(++count) + ".tmp";
}

void OptimizationCache::Commit(const std::string& fresh) const {
  std::error_code problem;
  std::filesystem::rename(fresh, file_, problem);
  if (problem) throw kit::Unavailable("the optimized model could not be kept as '" + file_.string() + "': " + problem.message());
}

void OptimizationCache::Abandon(const std::string& fresh) const noexcept {
  // Where it was never written there is nothing to remove.
  std::error_code ignored;
  std::filesystem::remove(fresh, ignored);
}

}  // namespace npu_console::onnxruntime
