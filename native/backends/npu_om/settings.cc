#include "npu_om/settings.h"

#include <charconv>

namespace npu_console::npu_om {

namespace {

/** Numbers between separators; nothing where it is not that. */
std::optional<std::vector<std::int64_t>> Numbers(const std::string& text, char separator) {
  std::vector<std::int64_t> numbers;
  for (const char* at = text.data(); at <= text.data() + text.size();) {
    std::int64_t number = 0;
    const auto [end, problem] = std::from_chars(at, text.data() + text.size(), number);
    if (problem != std::errc() || number < 0 || number > INT32_MAX * std::int64_t{1024}) return std::nullopt;
    numbers.push_back(number);
    if (end == text.data() + text.size()) return numbers;
    if (*end != separator) return std::nullopt;
    at = end + 1;
  }
  return std::nullopt;
}

std::vector<std::int64_t> NumbersOf(const kit::Options& options, const std::string& key, char separator, const char* example) {
  const auto text = options.Text(key);
  if (!text.has_value()) return {};
  const auto numbers = Numbers(*text, separator);
  if (numbers.has_value()) return *numbers;
  throw kit::InvalidArgument("'" + key + "' is '" + *text + "': give whole numbers as in " + example);
}

}  // namespace

Settings ReadSettings(const kit::ModelConfig& config, const kit::BackendSettings& settings) {
  const kit::Options options(config, settings);
  Settings result;
  const auto milliseconds = [&](const char* key, std::chrono::milliseconds fallback) {
    return std::chrono::milliseconds(options.Integer(key, 0, INT32_MAX).value_or(fallback.count()));
  };
  result.om.timeout = milliseconds("execution_timeout_ms", result.om.timeout);
  result.om.load_timeout = milliseconds("load_timeout_ms", result.om.load_timeout);
  result.om.check_chip = options.Boolean("check_chip").value_or(true);
  result.default_max_batch_size = options.Integer("default-max-batch-size", 1, INT32_MAX).value_or(result.default_max_batch_size);
  for (const std::int64_t bytes : NumbersOf(options, "output_bytes", ',', "1048576 or 1048576,4096")) result.om.output_bytes.push_back(static_cast<std::size_t>(bytes));
  for (const std::int64_t id : NumbersOf(options, "device_ids", ',', "0 or 0,1")) result.device_ids.push_back(static_cast<int>(id));
  const auto cores = NumbersOf(options, "aicore_num", '|', "8 or 12|10 (cube cores, vector cores)");
  if (cores.size() > 2) throw kit::InvalidArgument("'aicore_num' takes at most two numbers: cube cores and vector cores, as in 12|10");
  if (!cores.empty()) result.om.cube_cores = static_cast<std::uint32_t>(cores[0]);
  if (cores.size() > 1) result.om.vector_cores = static_cast<std::uint32_t>(cores[1]);
  const std::string padding = options.Text("gear_padding").value_or("all");
  if (padding == "none") {
    result.padding = ascend::Padding::None;
  } else if (padding == "batch") {
    result.padding = ascend::Padding::Batch;
  } else if (padding != "all") {
    throw kit::InvalidArgument("'gear_padding' is '" + padding + "': it takes none, batch or all");
  }
  return result;
}

kit::Error ToTriton(const ascend::Error& error) {
  switch (error.kind()) {
    case ascend::ErrorKind::InvalidArgument: return kit::InvalidArgument(error.what());
    case ascend::ErrorKind::NotFound: return {TRITONSERVER_ERROR_NOT_FOUND, error.what()};
    case ascend::ErrorKind::Unsupported: return kit::Unsupported(error.what());
    case ascend::ErrorKind::Unavailable: return kit::Unavailable(error.what());
    default: return kit::Internal(error.what());
  }
}

}  // namespace npu_console::npu_om
