#include "card_server.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "core/om_file.h"
#include "test/fixture.h"

namespace fs = std::filesystem;
using rig::EventPtr;

namespace cards {

namespace {

std::string BytesOf(const std::vector<float>& values) { return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)}; }

/** The .om file of the model, as the simulated atc makes it. */
std::string MakeOm() {
  simulator::CompileRequest request;
  request.name = "linear";
  request.soc = "Ascend910B3";
  request.inputShape = "x:-1,4";
  request.gearKind = simulator::GearKind::Batch;
  request.gears = "1,2,4";
  std::string error;
  const auto model = simulator::Compile(fixture::LinearModel(-1), request, error);
  if (model == nullptr) throw std::runtime_error(error);
  return simulator::WriteOm(*model);
}

std::string ConfigOf(const CardModel& model) {
  const std::string device = std::to_string(model.device);
  const std::string limit = std::to_string(EXECUTION_MILLISECONDS);
  return R"({"name":"m)" + std::to_string(model.token) + R"(","max_batch_size":4,"input":[{"name":"x","data_type":"TYPE_FP32","dims":["4"]}],)" +
         R"("output":[{"name":"y","data_type":"TYPE_FP32","dims":["3"]}],"instance_group":[{"count":1,"kind":"KIND_GPU","gpus":[)" + device + "]}]," +
         R"("parameters":{"device_ids":{"string_value":")" + device + R"("},"execution_timeout_ms":{"string_value":")" + limit +
         R"("},"load_timeout_ms":{"string_value":"5000"}}})";
}

}  // namespace

void UseFaults(const std::string& faults) {
  fixture::UseCards({"910B3", "910B3"}, faults, R"("timeScale": 0, "heartbeatMilliseconds": )" + std::to_string(HEARTBEAT_MILLISECONDS));
}

std::vector<float> Expected(const std::vector<float>& rows) {
  return fixture::Reference(fixture::LinearModel(-1), rows, {static_cast<std::int64_t>(rows.size() / 4), 4});
}

std::string Said(const EventPtr& event) { return event->has_error ? event->error_message : ""; }

CardServer::CardServer() : Rig([] {
    UseFaults("");
    Options options{};
    options.backend_directory = PRODUCT_BACKENDS;
    // Thousands of runs: errors and warnings are enough.
    options.log_levels = 0x3;
    return options;
  }()), om_(MakeOm()) {
  settings_ = std::string(R"({"cmdline":{"cann-library-directory":")") + TEST_LIBRARY_DIR + R"(","work-directory":")" + fixture::Directory() + R"(/work"}})";
}

std::string CardServer::Serve(const CardModel& model) {
  const bool is_om = std::string(model.backend) == "npu_om";
  const std::string name = "m" + std::to_string(model.token);
  const std::string directory = fixture::Directory() + "/repository/" + name;
  fs::create_directories(directory + "/1");
  fixture::WriteFile(directory + (is_om ? "/1/model.om" : "/1/model.onnx"), is_om ? om_ : fixture::LinearModel(-1));
  const std::string config = ConfigOf(model);
  const EventPtr loaded = Load(model.token, model.backend, [&](TritonHostModelOptions& options) {
    options.name = name.c_str();
    options.directory = directory.c_str();
    options.config_json = config.c_str();
    options.backend_config_json = settings_.c_str();
  });
  if (const std::string said = Said(loaded); !said.empty()) return said;
  const std::string said = AddInstanceOf(model);
  // A model without an instance is no use to anybody.
  if (!said.empty()) Unload(model);
  return said;
}

std::string CardServer::AddInstanceOf(const CardModel& model) {
  return Said(AddInstance(model.token, model.token, "instance_0", [&](TritonHostInstanceOptions& options) {
    options.kind = TRITONSERVER_INSTANCEGROUPKIND_GPU;
    options.device_id = model.device;
  }));
}

std::string CardServer::Unload(const CardModel& model) {
  rig::Must(tritonhost_unload_model(host(), model.token));
  const std::string said = Said(Wait(TRITONHOST_EVENT_MODEL_UNLOADED, model.token));
  // Its instance, where it still had one, went before it. Left lying, the event would be taken for that of the next instance of this token.
  Drop(TRITONHOST_EVENT_INSTANCE_REMOVED, model.token);
  return said;
}

std::string CardServer::Infer(const CardModel& model, float first) {
  const std::uint64_t token = request_++;
  const std::vector<float> row = {first, first + 1, -first, 2};
  rig::Request request(token);
  request.Raw("x", TRITONSERVER_TYPE_FP32, {1, 4}, BytesOf(row)).Output("y");
  Submit(model.token, token, {&request});
  const EventPtr answer = Wait(TRITONHOST_EVENT_RESPONSE, token);
  Wait(TRITONHOST_EVENT_REQUEST_RELEASED, token);
  Wait(TRITONHOST_EVENT_BATCH_EXECUTED, token);
  if (answer->has_error) return answer->error_message;
  return rig::Bytes(*answer, "y") == BytesOf(Expected(row)) ? "" : "wrong numbers";
}

double CardServer::Recover(const CardModel& model, double limitSeconds, std::string& problem) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  bool has_instance = true;
  while (seconds() < limitSeconds) {
    if (has_instance) {
      rig::Must(tritonhost_check_instance(host(), model.token));
      problem = Said(Wait(TRITONHOST_EVENT_INSTANCE_READINESS, model.token));
      if (problem.empty()) problem = Infer(model);
      if (problem.empty()) return seconds();
      // A backend may bring its card back by itself: it gets a second before the server helps.
      if (seconds() < 1.0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        continue;
      }
      rig::Must(tritonhost_remove_instance(host(), model.token));
      Wait(TRITONHOST_EVENT_INSTANCE_REMOVED, model.token);
      has_instance = false;
    }
    const std::string said = AddInstanceOf(model);
    has_instance = said.empty();
    // An instance that is there again has answered nothing yet: the problem stays the last one met.
    if (!has_instance) problem = said;
    if (!has_instance) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return -1;
}

}  // namespace cards
