#include "common/entry_points.h"

namespace npu_console::kit {

void CheckApiVersion() {
  std::uint32_t major = 0, minor = 0;
  Must(TRITONBACKEND_ApiVersion(&major, &minor));
  if (major == TRITONBACKEND_API_VERSION_MAJOR && minor >= TRITONBACKEND_API_VERSION_MINOR) return;
  throw Unsupported("Triton backend API version does not support this backend: it needs " + std::to_string(TRITONBACKEND_API_VERSION_MAJOR) + "." +
                    std::to_string(TRITONBACKEND_API_VERSION_MINOR) + ", the server has " + std::to_string(major) + "." + std::to_string(minor));
}

TRITONBACKEND_Backend* BackendOf(TRITONBACKEND_Model* model) {
  TRITONBACKEND_Backend* backend = nullptr;
  Must(TRITONBACKEND_ModelBackend(model, &backend));
  return backend;
}

TRITONBACKEND_Model* ModelOf(TRITONBACKEND_ModelInstance* instance) {
  TRITONBACKEND_Model* model = nullptr;
  Must(TRITONBACKEND_ModelInstanceModel(instance, &model));
  return model;
}

InstanceFacts ReadInstance(TRITONBACKEND_ModelInstance* instance) {
  InstanceFacts facts;
  const char* name = nullptr;
  Must(TRITONBACKEND_ModelInstanceName(instance, &name));
  facts.name = name;
  Must(TRITONBACKEND_ModelInstanceKind(instance, &facts.kind));
  Must(TRITONBACKEND_ModelInstanceDeviceId(instance, &facts.device_id));
  Must(TRITONBACKEND_ModelInstanceIsPassive(instance, &facts.is_passive));
  TRITONSERVER_Message* policy = nullptr;
  Must(TRITONBACKEND_ModelInstanceHostPolicy(instance, &policy));
  if (policy == nullptr) return facts;
  const char* base = nullptr;
  std::size_t byte_size = 0;
  Must(TRITONSERVER_MessageSerializeToJson(policy, &base, &byte_size));
  std::string problem;
  if (!Json::Parse(std::string(base, byte_size), facts.host_policy, problem)) throw Internal("the host policy from the server is no JSON: " + problem);
  return facts;
}

}  // namespace npu_console::kit
