// TRITONBACKEND_: version, memory, backend, model and model instance.
#include <new>

#include "model.h"

using npu_console::triton::EventPtr;
using npu_console::triton::InvalidArgument;
using npu_console::triton::MakeError;
using npu_console::triton::NewEvent;
using npu_console::triton::OutOfBounds;

namespace {

constexpr uint32_t kConfigVersion = 1;

TRITONSERVER_Error* CheckConfigVersion(uint32_t version) {
  if (version == kConfigVersion) return nullptr;
  return MakeError(TRITONSERVER_ERROR_UNSUPPORTED, "model configuration version " + std::to_string(version) + " not supported, supports version " + std::to_string(kConfigVersion));
}

TRITONSERVER_Error* ReportMemory(const TRITONBACKEND_Model& model, uint64_t instance, TRITONSERVER_BufferAttributes** usage, uint32_t count) {
  EventPtr event = NewEvent(TRITONHOST_EVENT_MEMORY_USAGE);
  event->Token(instance == 0 ? model.facts->token : instance).Model(model.facts->token).Instance(instance);
  for (uint32_t index = 0; index < count; ++index) {
    event->owned_usages.push_back({usage[index]->memory_type, usage[index]->memory_type_id, usage[index]->byte_size});
  }
  model.events->Push(std::move(event));
  return nullptr;
}

}  // namespace

TRITONSERVER_Error* TRITONBACKEND_ApiVersion(uint32_t* major, uint32_t* minor) {
  *major = TRITONBACKEND_API_VERSION_MAJOR;
  *minor = TRITONBACKEND_API_VERSION_MINOR;
  return nullptr;
}

// ---- Memory ----

TRITONSERVER_Error* TRITONBACKEND_MemoryManagerAllocate(
    TRITONBACKEND_MemoryManager* manager, void** buffer, const TRITONSERVER_MemoryType memory_type, const int64_t, const uint64_t byte_size) {
  TRITONHOST_REQUIRE(manager);
  TRITONHOST_REQUIRE(buffer);
  if (memory_type == TRITONSERVER_MEMORY_GPU) return MakeError(TRITONSERVER_ERROR_UNSUPPORTED, "GPU memory allocation not supported");
  try {
    // Also for 0 bytes a buffer of its own, which can be freed.
    npu_console::triton::Memory memory = npu_console::triton::AllocateMemory(byte_size == 0 ? 1 : byte_size);
    const std::lock_guard lock(manager->mutex);
    manager->allocated.emplace(memory.get(), byte_size);
    *buffer = memory.release();
    return nullptr;
  } catch (const std::bad_alloc&) {
    return MakeError(TRITONSERVER_ERROR_UNAVAILABLE, "CPU memory allocation failed: " + std::to_string(byte_size) + " bytes");
  }
}

TRITONSERVER_Error* TRITONBACKEND_MemoryManagerFree(TRITONBACKEND_MemoryManager* manager, void* buffer, const TRITONSERVER_MemoryType memory_type, const int64_t) {
  TRITONHOST_REQUIRE(manager);
  if (memory_type == TRITONSERVER_MEMORY_GPU) return MakeError(TRITONSERVER_ERROR_UNSUPPORTED, "GPU memory allocation not supported");
  {
    const std::lock_guard lock(manager->mutex);
    if (manager->allocated.erase(buffer) == 0) return InvalidArgument("TRITONBACKEND_MemoryManagerFree: the buffer is not one of this memory manager, or was freed already");
  }
  std::free(buffer);
  return nullptr;
}

// ---- The backend ----

TRITONSERVER_Error* TRITONBACKEND_BackendName(TRITONBACKEND_Backend* backend, const char** name) {
  TRITONHOST_REQUIRE(backend);
  *name = backend->name.c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_BackendConfig(TRITONBACKEND_Backend* backend, TRITONSERVER_Message** config) {
  TRITONHOST_REQUIRE(backend);
  *config = &backend->config;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_BackendExecutionPolicy(TRITONBACKEND_Backend* backend, TRITONBACKEND_ExecutionPolicy* policy) {
  TRITONHOST_REQUIRE(backend);
  *policy = backend->execution_policy;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_BackendSetExecutionPolicy(TRITONBACKEND_Backend* backend, TRITONBACKEND_ExecutionPolicy policy) {
  TRITONHOST_REQUIRE(backend);
  backend->execution_policy = policy;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_BackendArtifacts(TRITONBACKEND_Backend* backend, TRITONBACKEND_ArtifactType* artifact_type, const char** location) {
  TRITONHOST_REQUIRE(backend);
  *artifact_type = TRITONBACKEND_ARTIFACT_FILESYSTEM;
  *location = backend->directory.c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_BackendMemoryManager(TRITONBACKEND_Backend* backend, TRITONBACKEND_MemoryManager** manager) {
  TRITONHOST_REQUIRE(backend);
  *manager = &backend->memory_manager;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_BackendState(TRITONBACKEND_Backend* backend, void** state) {
  TRITONHOST_REQUIRE(backend);
  *state = backend->state;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_BackendSetState(TRITONBACKEND_Backend* backend, void* state) {
  TRITONHOST_REQUIRE(backend);
  backend->state = state;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_BackendAttributeAddPreferredInstanceGroup(
    TRITONBACKEND_BackendAttribute* attributes, const TRITONSERVER_InstanceGroupKind kind, const uint64_t count, const uint64_t* device_ids, const uint64_t id_count) {
  TRITONHOST_REQUIRE(attributes);
  TRITONBACKEND_BackendAttribute::Group group{kind, count, {}};
  if (device_ids != nullptr) group.device_ids.assign(device_ids, device_ids + id_count);
  attributes->preferred_groups.push_back(std::move(group));
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_BackendAttributeSetParallelModelInstanceLoading(TRITONBACKEND_BackendAttribute* attributes, bool enabled) {
  TRITONHOST_REQUIRE(attributes);
  attributes->loads_instances_in_parallel = enabled;
  return nullptr;
}

// ---- The model ----

TRITONSERVER_Error* TRITONBACKEND_ModelName(TRITONBACKEND_Model* model, const char** name) {
  TRITONHOST_REQUIRE(model);
  *name = model->facts->name.c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelVersion(TRITONBACKEND_Model* model, uint64_t* version) {
  TRITONHOST_REQUIRE(model);
  *version = static_cast<uint64_t>(model->facts->version);
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelRepository(TRITONBACKEND_Model* model, TRITONBACKEND_ArtifactType* artifact_type, const char** location) {
  TRITONHOST_REQUIRE(model);
  *artifact_type = TRITONBACKEND_ARTIFACT_FILESYSTEM;
  *location = model->options.directory.c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelConfig(TRITONBACKEND_Model* model, const uint32_t config_version, TRITONSERVER_Message** config) {
  TRITONHOST_REQUIRE(model);
  if (TRITONSERVER_Error* error = CheckConfigVersion(config_version)) return error;
  *config = new TRITONSERVER_Message{model->Config()};
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelAutoCompleteConfig(TRITONBACKEND_Model* model, bool* auto_complete_config) {
  TRITONHOST_REQUIRE(model);
  *auto_complete_config = model->options.auto_complete_config;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelSetConfig(TRITONBACKEND_Model* model, const uint32_t config_version, TRITONSERVER_Message* config) {
  TRITONHOST_REQUIRE(model);
  TRITONHOST_REQUIRE(config);
  if (TRITONSERVER_Error* error = CheckConfigVersion(config_version)) return error;
  return model->SetConfig(config->json);
}

TRITONSERVER_Error* TRITONBACKEND_ModelServer(TRITONBACKEND_Model* model, TRITONSERVER_Server** server) {
  TRITONHOST_REQUIRE(model);
  *server = model->bridge.server();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelBackend(TRITONBACKEND_Model* model, TRITONBACKEND_Backend** backend) {
  TRITONHOST_REQUIRE(model);
  *backend = model->backend;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelState(TRITONBACKEND_Model* model, void** state) {
  TRITONHOST_REQUIRE(model);
  *state = model->state;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelSetState(TRITONBACKEND_Model* model, void* state) {
  TRITONHOST_REQUIRE(model);
  model->state = state;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelReportMemoryUsage(TRITONBACKEND_Model* model, TRITONSERVER_BufferAttributes** usage, uint32_t usage_size) {
  TRITONHOST_REQUIRE(model);
  return ReportMemory(*model, 0, usage, usage_size);
}

// ---- The model instance ----

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceName(TRITONBACKEND_ModelInstance* instance, const char** name) {
  TRITONHOST_REQUIRE(instance);
  *name = instance->options.name.c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceKind(TRITONBACKEND_ModelInstance* instance, TRITONSERVER_InstanceGroupKind* kind) {
  TRITONHOST_REQUIRE(instance);
  *kind = instance->options.kind;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceDeviceId(TRITONBACKEND_ModelInstance* instance, int32_t* device_id) {
  TRITONHOST_REQUIRE(instance);
  *device_id = instance->options.device_id;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceHostPolicy(TRITONBACKEND_ModelInstance* instance, TRITONSERVER_Message** host_policy) {
  TRITONHOST_REQUIRE(instance);
  *host_policy = &instance->host_policy;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceIsPassive(TRITONBACKEND_ModelInstance* instance, bool* is_passive) {
  TRITONHOST_REQUIRE(instance);
  *is_passive = instance->options.is_passive;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceProfileCount(TRITONBACKEND_ModelInstance* instance, uint32_t* count) {
  TRITONHOST_REQUIRE(instance);
  *count = static_cast<uint32_t>(instance->options.profiles.size());
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceProfileName(TRITONBACKEND_ModelInstance* instance, const uint32_t index, const char** profile_name) {
  TRITONHOST_REQUIRE(instance);
  const auto& profiles = instance->options.profiles;
  if (index >= profiles.size()) return OutOfBounds(index, "instance is configured with", profiles.size(), "profiles");
  *profile_name = profiles[index].c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceSecondaryDeviceCount(TRITONBACKEND_ModelInstance* instance, uint32_t* count) {
  TRITONHOST_REQUIRE(instance);
  *count = static_cast<uint32_t>(instance->options.secondary_devices.size());
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceSecondaryDeviceProperties(TRITONBACKEND_ModelInstance* instance, uint32_t index, const char** kind, int64_t* id) {
  TRITONHOST_REQUIRE(instance);
  const auto& devices = instance->options.secondary_devices;
  if (index >= devices.size()) return OutOfBounds(index, "instance is configured with", devices.size(), "secondary devices");
  *kind = devices[index].first.c_str();
  *id = devices[index].second;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceModel(TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Model** model) {
  TRITONHOST_REQUIRE(instance);
  *model = instance->model;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceState(TRITONBACKEND_ModelInstance* instance, void** state) {
  TRITONHOST_REQUIRE(instance);
  *state = instance->state;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceSetState(TRITONBACKEND_ModelInstance* instance, void* state) {
  TRITONHOST_REQUIRE(instance);
  instance->state = state;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportMemoryUsage(TRITONBACKEND_ModelInstance* instance, TRITONSERVER_BufferAttributes** usage, uint32_t usage_size) {
  TRITONHOST_REQUIRE(instance);
  return ReportMemory(*instance->model, instance->options.token, usage, usage_size);
}
