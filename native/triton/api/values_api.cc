// TRITONSERVER_: version, names of types, errors, JSON messages, parameters, buffer attributes, logging.
#include <string_view>

#include "events.h"
#include "values.h"

using npu_console::triton::InvalidArgument;
using npu_console::triton::MakeError;

TRITONSERVER_Error* TRITONSERVER_ApiVersion(uint32_t* major, uint32_t* minor) {
  *major = TRITONSERVER_API_VERSION_MAJOR;
  *minor = TRITONSERVER_API_VERSION_MINOR;
  return nullptr;
}

namespace {

struct DataTypeFacts {
  TRITONSERVER_DataType datatype;
  const char* name;
  uint32_t byte_size;
};

constexpr DataTypeFacts kDataTypes[] = {
    {TRITONSERVER_TYPE_BOOL, "BOOL", 1},     {TRITONSERVER_TYPE_UINT8, "UINT8", 1}, {TRITONSERVER_TYPE_UINT16, "UINT16", 2}, {TRITONSERVER_TYPE_UINT32, "UINT32", 4},
    {TRITONSERVER_TYPE_UINT64, "UINT64", 8}, {TRITONSERVER_TYPE_INT8, "INT8", 1},   {TRITONSERVER_TYPE_INT16, "INT16", 2},   {TRITONSERVER_TYPE_INT32, "INT32", 4},
    {TRITONSERVER_TYPE_INT64, "INT64", 8},   {TRITONSERVER_TYPE_FP16, "FP16", 2},   {TRITONSERVER_TYPE_FP32, "FP32", 4},     {TRITONSERVER_TYPE_FP64, "FP64", 8},
    {TRITONSERVER_TYPE_BYTES, "BYTES", 0},   {TRITONSERVER_TYPE_BF16, "BF16", 2},
};

}  // namespace

const char* TRITONSERVER_DataTypeString(TRITONSERVER_DataType datatype) {
  for (const DataTypeFacts& facts : kDataTypes) {
    if (facts.datatype == datatype) return facts.name;
  }
  return "<invalid>";
}

TRITONSERVER_DataType TRITONSERVER_StringToDataType(const char* text) {
  for (const DataTypeFacts& facts : kDataTypes) {
    if (text != nullptr && std::string_view(facts.name) == text) return facts.datatype;
  }
  return TRITONSERVER_TYPE_INVALID;
}

uint32_t TRITONSERVER_DataTypeByteSize(TRITONSERVER_DataType datatype) {
  for (const DataTypeFacts& facts : kDataTypes) {
    if (facts.datatype == datatype) return facts.byte_size;
  }
  return 0;
}

const char* TRITONSERVER_MemoryTypeString(TRITONSERVER_MemoryType memory_type) {
  switch (memory_type) {
    case TRITONSERVER_MEMORY_CPU:
      return "CPU";
    case TRITONSERVER_MEMORY_CPU_PINNED:
      return "CPU_PINNED";
    case TRITONSERVER_MEMORY_GPU:
      return "GPU";
  }
  return "<invalid>";
}

const char* TRITONSERVER_ParameterTypeString(TRITONSERVER_ParameterType type) {
  switch (type) {
    case TRITONSERVER_PARAMETER_STRING:
      return "STRING";
    case TRITONSERVER_PARAMETER_INT:
      return "INT";
    case TRITONSERVER_PARAMETER_BOOL:
      return "BOOL";
    case TRITONSERVER_PARAMETER_DOUBLE:
      return "DOUBLE";
    case TRITONSERVER_PARAMETER_BYTES:
      return "BYTES";
  }
  return "<invalid>";
}

const char* TRITONSERVER_InstanceGroupKindString(TRITONSERVER_InstanceGroupKind kind) {
  switch (kind) {
    case TRITONSERVER_INSTANCEGROUPKIND_AUTO:
      return "AUTO";
    case TRITONSERVER_INSTANCEGROUPKIND_CPU:
      return "CPU";
    case TRITONSERVER_INSTANCEGROUPKIND_GPU:
      return "GPU";
    case TRITONSERVER_INSTANCEGROUPKIND_MODEL:
      return "MODEL";
  }
  return "<invalid>";
}

// ---- Parameters ----

TRITONSERVER_Parameter* TRITONSERVER_ParameterNew(const char* name, const TRITONSERVER_ParameterType type, const void* value) {
  if (name == nullptr || value == nullptr) return nullptr;
  TRITONSERVER_Parameter parameter;
  parameter.name = name;
  parameter.type = type;
  switch (type) {
    case TRITONSERVER_PARAMETER_STRING:
      parameter.bytes = static_cast<const char*>(value);
      break;
    case TRITONSERVER_PARAMETER_INT:
      parameter.integer = *static_cast<const int64_t*>(value);
      break;
    case TRITONSERVER_PARAMETER_BOOL:
      parameter.boolean = *static_cast<const bool*>(value);
      break;
    case TRITONSERVER_PARAMETER_DOUBLE:
      parameter.real = *static_cast<const double*>(value);
      break;
    default:
      // Bytes have a size: TRITONSERVER_ParameterBytesNew.
      return nullptr;
  }
  return new TRITONSERVER_Parameter(std::move(parameter));
}

TRITONSERVER_Parameter* TRITONSERVER_ParameterBytesNew(const char* name, const void* bytes, const uint64_t byte_size) {
  if (name == nullptr || (bytes == nullptr && byte_size > 0)) return nullptr;
  auto* const parameter = new TRITONSERVER_Parameter;
  parameter->name = name;
  parameter->type = TRITONSERVER_PARAMETER_BYTES;
  if (byte_size > 0) parameter->bytes.assign(static_cast<const char*>(bytes), byte_size);
  return parameter;
}

void TRITONSERVER_ParameterDelete(TRITONSERVER_Parameter* parameter) { delete parameter; }

// ---- Logging ----

bool TRITONSERVER_LogIsEnabled(TRITONSERVER_LogLevel level) {
  const npu_console::triton::EventQueuePtr events = npu_console::triton::CurrentEventQueue();
  return events != nullptr && level >= TRITONSERVER_LOG_INFO && level <= TRITONSERVER_LOG_VERBOSE && events->LogsLevel(level);
}

TRITONSERVER_Error* TRITONSERVER_LogMessage(TRITONSERVER_LogLevel level, const char* file, const int line, const char* message) {
  if (level < TRITONSERVER_LOG_INFO || level > TRITONSERVER_LOG_VERBOSE) return InvalidArgument("unknown logging level '" + std::to_string(static_cast<int>(level)) + "'");
  TRITONHOST_REQUIRE(message);
  const npu_console::triton::EventQueuePtr events = npu_console::triton::CurrentEventQueue();
  if (events != nullptr) events->Log(level, file, line, message);
  return nullptr;
}

// ---- Errors ----

TRITONSERVER_Error* TRITONSERVER_ErrorNew(TRITONSERVER_Error_Code code, const char* message) { return MakeError(code, message == nullptr ? "" : message); }
void TRITONSERVER_ErrorDelete(TRITONSERVER_Error* error) { delete error; }
TRITONSERVER_Error_Code TRITONSERVER_ErrorCode(TRITONSERVER_Error* error) { return error->code; }
const char* TRITONSERVER_ErrorCodeString(TRITONSERVER_Error* error) { return npu_console::triton::ErrorCodeName(error->code); }
const char* TRITONSERVER_ErrorMessage(TRITONSERVER_Error* error) { return error->message.c_str(); }

// ---- Messages ----

TRITONSERVER_Error* TRITONSERVER_MessageNewFromSerializedJson(TRITONSERVER_Message** message, const char* base, size_t byte_size) {
  TRITONHOST_REQUIRE(message);
  TRITONHOST_REQUIRE(base);
  if (!npu_console::triton::IsJson({base, byte_size})) return InvalidArgument("failed to parse the message: it is not JSON (" + std::to_string(byte_size) + " bytes)");
  *message = new TRITONSERVER_Message{std::string(base, byte_size)};
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_MessageDelete(TRITONSERVER_Message* message) {
  delete message;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_MessageSerializeToJson(TRITONSERVER_Message* message, const char** base, size_t* byte_size) {
  TRITONHOST_REQUIRE(message);
  *base = message->json.data();
  *byte_size = message->json.size();
  return nullptr;
}

// ---- Buffer attributes ----

TRITONSERVER_Error* TRITONSERVER_BufferAttributesNew(TRITONSERVER_BufferAttributes** attributes) {
  TRITONHOST_REQUIRE(attributes);
  *attributes = new TRITONSERVER_BufferAttributes;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_BufferAttributesDelete(TRITONSERVER_BufferAttributes* attributes) {
  delete attributes;
  return nullptr;
}

#define BUFFER_ATTRIBUTE(Name, Type, member)                                                                                  \
  TRITONSERVER_Error* TRITONSERVER_BufferAttributesSet##Name(TRITONSERVER_BufferAttributes* attributes, Type member) {        \
    TRITONHOST_REQUIRE(attributes);                                                                                           \
    attributes->member = member;                                                                                              \
    return nullptr;                                                                                                           \
  }                                                                                                                           \
  TRITONSERVER_Error* TRITONSERVER_BufferAttributes##Name(TRITONSERVER_BufferAttributes* attributes, Type* member) {          \
    TRITONHOST_REQUIRE(attributes);                                                                                           \
    *member = attributes->member;                                                                                             \
    return nullptr;                                                                                                           \
  }
BUFFER_ATTRIBUTE(MemoryType, TRITONSERVER_MemoryType, memory_type)
BUFFER_ATTRIBUTE(MemoryTypeId, int64_t, memory_type_id)
BUFFER_ATTRIBUTE(ByteSize, size_t, byte_size)
BUFFER_ATTRIBUTE(CudaIpcHandle, void*, cuda_ipc_handle)
#undef BUFFER_ATTRIBUTE
