// Settings of a backend: `parameters` of the model's configuration first, then `--backend-config=<backend>,<key>=<value>` and the server's global settings.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "common/model_config.h"

namespace npu_console::kit {

// The command line's settings of a backend, as TRITONBACKEND_BackendConfig tells them: {"cmdline":{key: text}}.
class BackendSettings {
 public:
  BackendSettings() = default;
  // @throws Error
  explicit BackendSettings(TRITONBACKEND_Backend* backend);
  explicit BackendSettings(std::map<std::string, std::string> values) : values_(std::move(values)) {}
  std::optional<std::string> Text(const std::string& key) const;
  const std::map<std::string, std::string>& values() const { return values_; }

 private:
  std::map<std::string, std::string> values_;
};

// One setting where two places can name it. An empty text counts as absent.
class Options {
 public:
  Options(const ModelConfig& config, const BackendSettings& settings) : config_(config), settings_(settings) {}

  // `model_key` in the parameters, else `backend_key` (the same unless given) on the command line.
  std::optional<std::string> Text(const std::string& model_key, const std::string& backend_key = "") const;
  // @throws Error INVALID_ARG that names parameter and model: not a whole number in [minimum, maximum]
  std::optional<std::int64_t> Integer(const std::string& key, std::int64_t minimum = 0, std::int64_t maximum = INT64_MAX) const;
  // 1, true, on, yes and their opposites, in any case. @throws Error INVALID_ARG
  std::optional<bool> Boolean(const std::string& key) const;

 private:
  // "parameter 'k' of model 'm'" or "--backend-config=...,k": whichever the value came from.
  std::string Place(const std::string& key) const;

  const ModelConfig& config_;
  const BackendSettings& settings_;
};

// A boolean as settings write it; nothing where it is none.
std::optional<bool> ReadBoolean(const std::string& text);

}  // namespace npu_console::kit
