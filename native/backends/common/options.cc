#include "common/options.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace npu_console::kit {

BackendSettings::BackendSettings(TRITONBACKEND_Backend* backend) {
  TRITONSERVER_Message* message = nullptr;
  Must(TRITONBACKEND_BackendConfig(backend, &message));
  const char* base = nullptr;
  std::size_t byte_size = 0;
  Must(TRITONSERVER_MessageSerializeToJson(message, &base, &byte_size));
  Json document;
  std::string problem;
  if (!Json::Parse(std::string(base, byte_size), document, problem)) throw Internal("the backend configuration from the server is no JSON: " + problem);
  for (const auto& [key, value] : document["cmdline"].members()) {
    values_[key] = value.kind() == Json::Kind::String ? value.String("") : value.Write();
  }
}

std::optional<std::string> BackendSettings::Text(const std::string& key) const {
  const auto found = values_.find(key);
  if (found == values_.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

std::optional<std::string> Options::Text(const std::string& model_key, const std::string& backend_key) const {
  const std::optional<std::string> of_model = config_.Parameter(model_key);
  if (of_model.has_value() && !of_model->empty()) return of_model;
  return settings_.Text(backend_key.empty() ? model_key : backend_key);
}

std::string Options::Place(const std::string& key) const {
  const std::optional<std::string> of_model = config_.Parameter(key);
  if (of_model.has_value() && !of_model->empty()) return "parameter '" + key + "' of model '" + config_.name + "'";
  return "backend setting '" + key + "', which model '" + config_.name + "' takes,";
}

std::optional<std::int64_t> Options::Integer(const std::string& key, std::int64_t minimum, std::int64_t maximum) const {
  const std::optional<std::string> text = Text(key);
  if (!text.has_value()) return std::nullopt;
  std::int64_t number = 0;
  const char* const last = text->data() + text->size();
  const auto [end, result] = std::from_chars(text->data(), last, number);
  if (result != std::errc() || end != last || number < minimum || number > maximum) {
    const std::string range = maximum == INT64_MAX ? " >= " + std::to_string(minimum) : " between " + std::to_string(minimum) + " and " + std::to_string(maximum);
    throw InvalidArgument(Place(key) + " must be a whole number" + range + ", got '" + *text + "'");
  }
  return number;
}

std::optional<bool> Options::Boolean(const std::string& key) const {
  const std::optional<std::string> text = Text(key);
  if (!text.has_value()) return std::nullopt;
  const std::optional<bool> value = ReadBoolean(*text);
  if (!value.has_value()) throw InvalidArgument(Place(key) + " must be true or false, got '" + *text + "'");
  return value;
}

std::optional<bool> ReadBoolean(const std::string& text) {
  std::string lower = text;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char character) { return static_cast<char>(std::tolower(character)); });
  for (const char* word : {"1", "true", "on", "yes"}) {
    if (lower == word) return true;
  }
  for (const char* word : {"0", "false", "off", "no"}) {
    if (lower == word) return false;
  }
  return std::nullopt;
}

}  // namespace npu_console::kit
