// TRITONSERVER_: what a backend asks of the server it runs in, and the sending of inference requests of its own (inference_request_api.cc).
#include "bridge.h"

using npu_console::triton::Bridge;
using npu_console::triton::EventPtr;
using npu_console::triton::InvalidArgument;
using npu_console::triton::MakeError;
using npu_console::triton::NewEvent;

namespace {

Bridge::Answer Ask(TRITONSERVER_Server* server, TritonHostQuestion question, const char* model_name, int64_t model_version, uint32_t flags = 0,
                   std::vector<TRITONSERVER_Parameter> parameters = {}) {
  EventPtr event = NewEvent(TRITONHOST_EVENT_QUESTION);
  event->Model(server->bridge->model_token());
  event->question = question;
  event->has_name = model_name != nullptr;
  if (model_name != nullptr) event->name_text = model_name;
  event->version = model_version;
  event->flags = flags;
  event->owned_parameters = std::move(parameters);
  return server->bridge->bridge().Ask(std::move(event));
}

TRITONSERVER_Error* AskForBool(TRITONSERVER_Server* server, TritonHostQuestion question, const char* model_name, int64_t model_version, bool* result) {
  Bridge::Answer answer = Ask(server, question, model_name, model_version);
  *result = answer.error == nullptr && answer.value != 0;
  return answer.error.release();
}

TRITONSERVER_Error* AskForFlags(TRITONSERVER_Server* server, TritonHostQuestion question, const char* model_name, int64_t model_version, uint32_t* flags, void** reserved) {
  Bridge::Answer answer = Ask(server, question, model_name, model_version);
  *flags = answer.value;
  if (reserved != nullptr) *reserved = nullptr;
  return answer.error.release();
}

TRITONSERVER_Error* AskForMessage(
    TRITONSERVER_Server* server, TritonHostQuestion question, const char* model_name, int64_t model_version, uint32_t flags, TRITONSERVER_Message** message) {
  Bridge::Answer answer = Ask(server, question, model_name, model_version, flags);
  *message = answer.error == nullptr ? new TRITONSERVER_Message{std::move(answer.text)} : nullptr;
  return answer.error.release();
}

}  // namespace

TRITONSERVER_Error* TRITONSERVER_ServerIsLive(TRITONSERVER_Server* server, bool* live) {
  TRITONHOST_REQUIRE(server);
  return AskForBool(server, TRITONHOST_QUESTION_SERVER_LIVE, nullptr, -1, live);
}

TRITONSERVER_Error* TRITONSERVER_ServerIsReady(TRITONSERVER_Server* server, bool* ready) {
  TRITONHOST_REQUIRE(server);
  return AskForBool(server, TRITONHOST_QUESTION_SERVER_READY, nullptr, -1, ready);
}

TRITONSERVER_Error* TRITONSERVER_ServerModelIsReady(TRITONSERVER_Server* server, const char* model_name, const int64_t model_version, bool* ready) {
  TRITONHOST_REQUIRE(server);
  TRITONHOST_REQUIRE(model_name);
  return AskForBool(server, TRITONHOST_QUESTION_MODEL_READY, model_name, model_version, ready);
}

TRITONSERVER_Error* TRITONSERVER_ServerModelBatchProperties(
    TRITONSERVER_Server* server, const char* model_name, const int64_t model_version, uint32_t* flags, void** reserved) {
  TRITONHOST_REQUIRE(server);
  TRITONHOST_REQUIRE(model_name);
  return AskForFlags(server, TRITONHOST_QUESTION_MODEL_BATCH, model_name, model_version, flags, reserved);
}

TRITONSERVER_Error* TRITONSERVER_ServerModelTransactionProperties(
    TRITONSERVER_Server* server, const char* model_name, const int64_t model_version, uint32_t* flags, void** reserved) {
  TRITONHOST_REQUIRE(server);
  TRITONHOST_REQUIRE(model_name);
  return AskForFlags(server, TRITONHOST_QUESTION_MODEL_TRANSACTION, model_name, model_version, flags, reserved);
}

TRITONSERVER_Error* TRITONSERVER_ServerMetadata(TRITONSERVER_Server* server, TRITONSERVER_Message** metadata) {
  TRITONHOST_REQUIRE(server);
  return AskForMessage(server, TRITONHOST_QUESTION_SERVER_METADATA, nullptr, -1, 0, metadata);
}

TRITONSERVER_Error* TRITONSERVER_ServerModelMetadata(
    TRITONSERVER_Server* server, const char* model_name, const int64_t model_version, TRITONSERVER_Message** metadata) {
  TRITONHOST_REQUIRE(server);
  TRITONHOST_REQUIRE(model_name);
  return AskForMessage(server, TRITONHOST_QUESTION_MODEL_METADATA, model_name, model_version, 0, metadata);
}

// All models where there is no name.
TRITONSERVER_Error* TRITONSERVER_ServerModelStatistics(
    TRITONSERVER_Server* server, const char* model_name, const int64_t model_version, TRITONSERVER_Message** statistics) {
  TRITONHOST_REQUIRE(server);
  return AskForMessage(server, TRITONHOST_QUESTION_MODEL_STATISTICS, model_name, model_version, 0, statistics);
}

TRITONSERVER_Error* TRITONSERVER_ServerModelConfig(
    TRITONSERVER_Server* server, const char* model_name, const int64_t model_version, const uint32_t config_version, TRITONSERVER_Message** config) {
  TRITONHOST_REQUIRE(server);
  TRITONHOST_REQUIRE(model_name);
  if (config_version != 1) {
    return MakeError(TRITONSERVER_ERROR_UNSUPPORTED, "model configuration version " + std::to_string(config_version) + " not supported, supports version 1");
  }
  return AskForMessage(server, TRITONHOST_QUESTION_MODEL_CONFIG, model_name, model_version, 0, config);
}

TRITONSERVER_Error* TRITONSERVER_ServerModelIndex(TRITONSERVER_Server* server, uint32_t flags, TRITONSERVER_Message** index) {
  TRITONHOST_REQUIRE(server);
  return AskForMessage(server, TRITONHOST_QUESTION_MODEL_INDEX, nullptr, -1, flags, index);
}

TRITONSERVER_Error* TRITONSERVER_ServerLoadModel(TRITONSERVER_Server* server, const char* model_name) {
  return TRITONSERVER_ServerLoadModelWithParameters(server, model_name, nullptr, 0);
}

TRITONSERVER_Error* TRITONSERVER_ServerLoadModelWithParameters(
    TRITONSERVER_Server* server, const char* model_name, const TRITONSERVER_Parameter** parameters, const uint64_t parameter_count) {
  TRITONHOST_REQUIRE(server);
  TRITONHOST_REQUIRE(model_name);
  if (parameters == nullptr && parameter_count > 0) return InvalidArgument("load parameters are not provided while parameter count is non-zero");
  std::vector<TRITONSERVER_Parameter> copies;
  for (uint64_t index = 0; index < parameter_count; ++index) copies.push_back(*parameters[index]);
  return Ask(server, TRITONHOST_QUESTION_LOAD_MODEL, model_name, -1, 0, std::move(copies)).error.release();
}

TRITONSERVER_Error* TRITONSERVER_ServerUnloadModel(TRITONSERVER_Server* server, const char* model_name) {
  TRITONHOST_REQUIRE(server);
  TRITONHOST_REQUIRE(model_name);
  return Ask(server, TRITONHOST_QUESTION_UNLOAD_MODEL, model_name, -1).error.release();
}

TRITONSERVER_Error* TRITONSERVER_ServerUnloadModelAndDependents(TRITONSERVER_Server* server, const char* model_name) {
  TRITONHOST_REQUIRE(server);
  TRITONHOST_REQUIRE(model_name);
  return Ask(server, TRITONHOST_QUESTION_UNLOAD_MODEL_AND_DEPENDENTS, model_name, -1).error.release();
}

TRITONSERVER_Error* TRITONSERVER_ServerInferAsync(TRITONSERVER_Server* server, TRITONSERVER_InferenceRequest* request, TRITONSERVER_InferenceTrace* trace) {
  TRITONHOST_REQUIRE(server);
  TRITONHOST_REQUIRE(request);
  return server->bridge->bridge().Infer(server->bridge, request, trace);
}
