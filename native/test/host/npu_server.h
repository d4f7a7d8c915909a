// A host with models of one NPU backend on two simulated cards of the kind 910B3: what the tests of npu_ge and npu_om share.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rig.h"

namespace npu {

using Shape = std::vector<std::int64_t>;
using rig::EventPtr;
using rig::Request;

std::string BytesOf(const std::vector<float>& values);
std::vector<float> Floats(const std::string& bytes);
// What an event says went wrong; "" for nothing.
std::string Said(const EventPtr& event);
// Of the event's output of that name.
Shape ShapeOf(const EventPtr& event, const std::string& name);
// A whole file.
std::string File(const std::string& path);

// Sets the faults of the cards, as entries of the settings' list; "" for none.
void UseFaults(const std::string& faults);
// Bytes of a card that are taken, as the simulated libraries tell that the backend has open.
std::size_t UsedMemory(int device);

// An entry of a config's parameters.
std::string Parameter(const std::string& key, const std::string& value);

// The numbers that fixture::LinearModel gives for rows of four.
std::vector<float> Linear(const std::vector<float>& x);

struct Reference {
  std::vector<std::string> outputs;
  std::vector<Shape> shapes;
};
// What ONNX Runtime answers to inputs given as bytes.
Reference Run(const std::string& onnx, std::vector<std::pair<std::string, Shape>> inputs);

// The ONNX file of the voice detection model (Silero VAD), from the npm package the server's own tests use.
std::string VoiceDetection();
// That of the text recognition model (PP-OCRv4).
std::string TextRecognition();
// Values for its input: rows x 3 x 48 x width, between -1 and 1.
std::vector<float> TextPicture(std::int64_t rows, std::int64_t width);

// Models go by their token; instance k of model t has the token 100 t + k.
class NpuServer : public rig::Rig {
 public:
  // @param file how the backend calls its model file
  // @param settings further members of the command line's settings, each with a comma before it
  NpuServer(const char* backend, const char* file, const std::string& settings = "", const char* backend_directory = PRODUCT_BACKENDS);

  // Puts a model file down and loads it; what the load said.
  std::string LoadModel(std::uint64_t token, const std::string& content, const std::string& config, const std::string& file = "");
  // Gives a model an instance, of KIND_GPU where a card is named.
  std::string Add(std::uint64_t instance, int device = -1);
  std::string ServeModel(std::uint64_t token, const std::string& content, const std::string& config, std::uint64_t instances = 1);
  // The config of the model that was loaded last, as the backend completed it.
  std::string config() const { return loaded_->text; }
  // What the backend says of the instance that was added last: JSON.
  std::string report() const { return added_->detail == nullptr ? "" : added_->detail; }

  // Sends a batch of one request and does not wait for it.
  void Send(std::uint64_t instance, Request& request) { Submit(instance, ++batch_, {&request}); }
  EventPtr Answer(const Request& request) { return Wait(TRITONHOST_EVENT_RESPONSE, request.c.token); }
  EventPtr Infer(std::uint64_t instance, Request& request);
  // x in, y out.
  EventPtr Infer(std::uint64_t instance, const std::vector<float>& x, const Shape& shape);
  EventPtr InferLinear(std::uint64_t instance, const std::vector<float>& x) { return Infer(instance, x, {static_cast<std::int64_t>(x.size() / 4), 4}); }

  std::string Ready(std::uint64_t instance);
  // Waits until the instance is ready again; fails after a long while.
  void WaitReady(std::uint64_t instance);
  void Remove(std::uint64_t instance);
  // As the server does with an instance that is not ready.
  std::string Restart(std::uint64_t instance);
  std::string Unload(std::uint64_t token);
  std::uint64_t NextToken() { return ++token_; }

 private:
  const std::string backend_, file_, settings_;
  EventPtr loaded_, added_;
  std::uint64_t batch_ = 1000, token_ = 50'000;
};

// Sends the instance, which serves the voice detection model, three pieces of sound one after another, each with the state that came of the one before, and holds
// what it answers against ONNX Runtime's answer.
void HoldVoiceDetectionAgainst(NpuServer& server, std::uint64_t instance, const std::string& onnx);

}  // namespace npu
