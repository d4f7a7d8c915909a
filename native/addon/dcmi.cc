#include "dcmi.h"

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "ascend/dcmi.h"
#include "ascend/error.h"
#include "thread_info.h"

namespace npu_console {
namespace {

// What one reading came to.
struct Outcome {
  ascend::DcmiReading reading;
  std::string error;
  int code = 0;
};

template <typename Value>
Napi::Value Number(Napi::Env env, const std::optional<Value>& value) {
  return value ? Napi::Number::New(env, static_cast<double>(*value)).As<Napi::Value>() : env.Null();
}

Napi::Value Text(Napi::Env env, const std::optional<std::string>& value) { return value ? Napi::String::New(env, *value).As<Napi::Value>() : env.Null(); }

Napi::Value Codes(Napi::Env env, const std::optional<std::vector<unsigned>>& codes) {
  if (!codes) return env.Null();
  Napi::Array list = Napi::Array::New(env);
  for (const unsigned code : *codes) list.Set(list.Length(), Napi::Number::New(env, code));
  return list;
}

Napi::Value Processes(Napi::Env env, const std::optional<std::vector<ascend::DcmiProcess>>& processes) {
  if (!processes) return env.Null();
  Napi::Array list = Napi::Array::New(env);
  for (const auto& [pid, bytes] : *processes) {
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("processId", Napi::Number::New(env, pid));
    entry.Set("memoryBytes", Napi::Number::New(env, static_cast<double>(bytes)));
    list.Set(list.Length(), entry);
  }
  return list;
}

Napi::Object Chip(Napi::Env env, const ascend::DcmiChip& chip) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("card", Napi::Number::New(env, chip.card));
  object.Set("chip", Napi::Number::New(env, chip.chip));
  object.Set("logicalId", Number(env, chip.logical_id));
  object.Set("name", Text(env, chip.name));
  object.Set("busId", Text(env, chip.bus_id));
  object.Set("health", Number(env, chip.health));
  object.Set("powerWatts", Number(env, chip.power_watts));
  object.Set("temperatureCelsius", Number(env, chip.temperature_celsius));
  object.Set("aiCorePercent", Number(env, chip.ai_core_percent));
  object.Set("vectorCorePercent", Number(env, chip.vector_core_percent));
  object.Set("cubeCorePercent", Number(env, chip.cube_core_percent));
  object.Set("overallPercent", Number(env, chip.overall_percent));
  object.Set("aiCoreMegahertz", Number(env, chip.ai_core_megahertz));
  object.Set("hbmTemperatureCelsius", Number(env, chip.hbm_temperature_celsius));
  object.Set("hbmBandwidthPercent", Number(env, chip.hbm_bandwidth_percent));
  object.Set("memoryUsedBytes", Number(env, chip.memory_used_bytes));
  object.Set("memoryTotalBytes", Number(env, chip.memory_total_bytes));
  object.Set("errorCodes", Codes(env, chip.error_codes));
  object.Set("processes", Processes(env, chip.processes));
  return object;
}

Napi::Object Reading(Napi::Env env, const ascend::DcmiReading& reading) {
  Napi::Object object = Napi::Object::New(env);
  Napi::Array chips = Napi::Array::New(env);
  for (const ascend::DcmiChip& chip : reading.chips) chips.Set(chips.Length(), Chip(env, chip));
  object.Set("driverVersion", Napi::String::New(env, reading.driver_version));
  object.Set("isSimulated", Napi::Boolean::New(env, reading.is_simulated));
  object.Set("chips", chips);
  return object;
}

void Answer(Napi::Env env, Napi::Function callback, Outcome* given) {
  const std::unique_ptr<Outcome> outcome(given);
  if (env == nullptr) return;
  if (outcome->error.empty()) {
    callback.Call({env.Null(), Reading(env, outcome->reading)});
    return;
  }
  Napi::Object error = Napi::Error::New(env, outcome->error).Value();
  error.Set("dcmiCode", Napi::Number::New(env, outcome->code));
  callback.Call({error, env.Null()});
}

Outcome Read(const std::string& directory) {
  Outcome outcome;
  try {
    outcome.reading = ascend::ReadDcmi(directory);
  } catch (const ascend::Error& error) {
    outcome.error = error.what();
    outcome.code = error.code();
  } catch (const std::exception& error) {
    outcome.error = error.what();
  }
  return outcome;
}

// readDcmi(directory: string, callback: (error: (Error & { dcmiCode: number }) | null, reading) => void): void. On a thread of its own, which nobody
// waits for: a card that hangs keeps it, and neither JavaScript nor the end of the process.
void ReadDcmiCall(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  if (info.Length() != 2 || !info[0].IsString() || !info[1].IsFunction()) throw Napi::TypeError::New(env, "readDcmi takes a directory and a callback");
  auto answers = Napi::ThreadSafeFunction::New(env, info[1].As<Napi::Function>(), "dcmi", 0, 1);
  answers.Unref(env);
  std::thread([directory = info[0].As<Napi::String>().Utf8Value(), answers]() mutable {
    NameCurrentThread("dcmi");
    auto outcome = std::make_unique<Outcome>(Read(directory));
    // Refused when JavaScript is being torn down.
    if (answers.BlockingCall(outcome.get(), Answer) == napi_ok) static_cast<void>(outcome.release());
    answers.Release();
  }).detach();
}

}  // namespace

void ExportDcmi(Napi::Env env, Napi::Object exports) { exports.Set("readDcmi", Napi::Function::New(env, ReadDcmiCall, "readDcmi")); }

}  // namespace npu_console
