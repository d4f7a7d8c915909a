#include "ascend/acl_error.h"

#include <algorithm>
#include <iterator>

#include "ascend/acl_api.h"
#include "shared/utf8.h"

namespace npu_console::ascend {

namespace {

using enum ErrorKind;
using enum FaultScope;

constexpr const char* SEE_LOG = "read CANN's own text below and its log ($HOME/ascend/log)";
constexpr const char* FREE_MEMORY = "unload a model of this card, lower the instance count, or put instances on another card";
constexpr const char* REPORT = "please report it with the text below";
constexpr const char* CHECK_CARD = "look at the card with npu-smi info; the instances restart by themselves when it answers again";
constexpr const char* SEND_AGAIN = "send the request again: the instances restart by themselves. Another model may have reset the card after a fault";
constexpr const char* CHECK_FIT = "npu-console doctor shows whether driver and CANN fit each other; an .om file has to be compiled with --soc_version of this card";
constexpr const char* CHECK_OPERATOR = "check the values of the inputs and the model; npu-console doctor shows whether driver and CANN fit each other";
constexpr const char* COMPILE_AGAIN = "compile the model again with the atc of this machine's CANN and --soc_version of this card";
constexpr const char* FIX_ENVIRONMENT = "start the server with the environment of CANN's set_env.sh; npu-console doctor shows what is missing";
constexpr const char* FIX_SHAPES = "send the shapes that the model was compiled for; om-passport shows them";

/** Sorted by code. */
constexpr AclErrorInfo CODES[] = {
    {100000, "INVALID_PARAM", "an argument is not valid", REPORT, InvalidArgument, Call},
    {100001, "UNINITIALIZE", "AscendCL was not initialised in this process", REPORT, Internal, Call},
    {100002, "REPEAT_INITIALIZE", "AscendCL was initialised before, which is harmless", "nothing has to be done", Internal, Call},
    {100003, "INVALID_FILE", "a file cannot be read", "check that the file exists and may be read by this user", InvalidArgument, Call},
    {100006, "PARSE_FILE", "a file is not what it should be (JSON, or a model)", "check the file named in the text below", InvalidArgument, Call},
    {100011, "INVALID_MODEL_ID", "the model is not loaded, or was unloaded", REPORT, Internal, Call},
    {100012, "DESERIALIZE_MODEL", "the .om file is damaged or made for something else", COMPILE_AGAIN, InvalidArgument, Call},
    {100013, "PARSE_MODEL", "the .om file cannot be understood", COMPILE_AGAIN, InvalidArgument, Call},
    {100014, "READ_MODEL_FAILURE", "the .om file cannot be read", COMPILE_AGAIN, InvalidArgument, Call},
    {100015, "MODEL_SIZE_INVALID", "the .om file is shorter or longer than its header says", "copy the file again, it is not complete", InvalidArgument, Call},
    {100017, "MODEL_INPUT_NOT_MATCH", "number or size of the inputs is not what the model has", FIX_SHAPES, InvalidArgument, Call},
    {100018, "MODEL_OUTPUT_NOT_MATCH", "number or size of the output buffers is not what the model has", REPORT, Internal, Call},
    {100019, "MODEL_NOT_DYNAMIC", "a gear was chosen for a model without such gears", FIX_SHAPES, InvalidArgument, Call},
    {100026, "UNSUPPORTED_DATA_TYPE", "the data type is not supported", "use another data type, or convert it in the model", Unsupported, Call},
    {100027, "FORMAT_NOT_MATCH", "the tensor format does not fit", COMPILE_AGAIN, InvalidArgument, Call},
    {100037, "REPEAT_FINALIZE", "AscendCL was shut down before", REPORT, Internal, Call},
    {100039, "COMPILING_STUB_MODE", "the process runs with CANN's link stubs (devlib), not with its libraries",
     "take devlib out of LD_LIBRARY_PATH; set_env.sh adds it where no driver is installed", Unsupported, Call},
    {107000, "PARAM_INVALID", "an argument is not valid", REPORT, InvalidArgument, Call},
    {107001, "INVALID_DEVICEID", "there is no device with this number",
     "use a logical number that npu-console doctor lists; ASCEND_RT_VISIBLE_DEVICES renumbers from 0", InvalidArgument, Call},
    {107002, "CONTEXT_NULL", "the thread has no context: the card was never set up for it, or was reset meanwhile", SEND_AGAIN, Unavailable, FaultScope::Device},
    {107003, "STREAM_CONTEXT", "the stream belongs to another context", REPORT, Internal, Stream},
    {107017, "INVALID_HANDLE", "a handle is not valid any more", REPORT, Internal, Stream},
    {107019, "WAIT_TIMEOUT", "waiting took longer than allowed", CHECK_CARD, Unavailable, FaultScope::Device},
    {107020, "TASK_TIMEOUT", "a task took longer than allowed", CHECK_CARD, Unavailable, Stream},
    {107022, "DEVICE_TASK_ABORT", "the card's tasks were broken off", "the request may be sent again", Unavailable, Stream},
    {145000, "GE_PARAM_INVALID", "an argument is not valid for the model", FIX_SHAPES, InvalidArgument, Call},
    {145001, "EXEC_NOT_INIT", "the model executor was not initialised", REPORT, Internal, Call},
    {145002, "MODEL_PATH_INVALID", "the model file cannot be found or read", "check that the file exists and may be read by this user", NotFound, Call},
    {145003, "MODEL_ID_INVALID", "the model is not loaded", REPORT, Internal, Call},
    {145011, "DYNAMIC_INPUT_ADDR_INVALID", "the buffer that carries the gear is not valid", REPORT, Internal, Call},
    {145012, "DYNAMIC_INPUT_LENGTH_INVALID", "the buffer that carries the gear is too small", REPORT, Internal, Call},
    {145013, "DYNAMIC_BATCH_SIZE_INVALID", "the model has no gear of this size", FIX_SHAPES, InvalidArgument, Call},
    {145020, "FORMAT_INVALID", "the tensor format does not fit the model", FIX_SHAPES, InvalidArgument, Call},
    {145021, "SHAPE_INVALID", "the shape does not fit the model", FIX_SHAPES, InvalidArgument, Call},
    {145022, "DATATYPE_INVALID", "the data type does not fit the model", FIX_SHAPES, InvalidArgument, Call},
    {148049, "INVALID_OPP_PATH", "ASCEND_OPP_PATH does not lead to CANN's operators", FIX_ENVIRONMENT, Unsupported, Call},
    {200000, "BAD_ALLOC", "the host has no memory left", "free memory of the host", Unavailable, Call},
    {200001, "API_NOT_SUPPORT", "this CANN or this chip does not have the function", "use a newer CANN, or leave the setting out", Unsupported, Call},
    {200006, "FEATURE_UNSUPPORTED", "this CANN or this chip does not have the feature", "use a newer CANN, or leave the setting out", Unsupported, Call},
    {207000, "FEATURE_NOT_SUPPORT", "this chip does not have the feature", "leave the setting out", Unsupported, Call},
    {207001, "MEMORY_ALLOCATION", "the card has not enough free memory", FREE_MEMORY, Unavailable, Call},
    {207004, "NO_DEVICE", "no NPU was found", "check npu-smi info, the driver and the group HwHiAiUser; npu-console doctor does it for you", Unavailable, FaultScope::Device},
    {207005, "RESOURCE_ALLOC_FAIL", "the driver could not give a resource", FREE_MEMORY, Unavailable, Call},
    {207006, "NO_PERMISSION", "this user may not use the card", "add the user to the group HwHiAiUser and log in again", Unavailable, FaultScope::Device},
    {207008, "NO_STREAM_RESOURCE", "the card has no streams left", "lower the number of instances or of streams per instance", Unavailable, Call},
    {207018, "DEVICE_OOM", "the card has not enough free memory", FREE_MEMORY, Unavailable, Call},
    {207020, "TIMEOUT", "the driver did not answer in time", CHECK_CARD, Unavailable, FaultScope::Device},
    {245000, "GE_MEMORY_ALLOCATION", "the card has not enough free memory for the model", FREE_MEMORY, Unavailable, Call},
    {500000, "INTERNAL_ERROR", "CANN failed inside; often its environment is not complete", FIX_ENVIRONMENT, Internal, Call},
    {500001, "FAILURE", "CANN failed inside", SEE_LOG, Internal, Call},
    {500002, "GE_FAILURE", "the graph engine failed; also when one loaded copy runs twice at a time", SEE_LOG, Internal, Call},
    {500003, "RT_FAILURE", "CANN's runtime failed", SEE_LOG, Internal, Stream},
    {500004, "DRV_FAILURE", "the driver failed", CHECK_CARD, Unavailable, FaultScope::Device},
    {507000, "INTERNAL_ERROR", "CANN's runtime failed inside", SEE_LOG, Internal, Stream},
    {507001, "TS_ERROR", "the card's task scheduler failed", CHECK_CARD, Unavailable, FaultScope::Device},
    {507008, "SOC_VERSION", "the chip could not be recognised", "in a container: mount the driver's files (driver/lib64, version.info) too", Unsupported, FaultScope::Device},
    {507010, "LOST_HEARTBEAT", "the card hangs: it does not answer any more", CHECK_CARD, Unavailable, FaultScope::Device},
    {507011, "MODEL_EXECUTE", "the run of the model failed", CHECK_OPERATOR, Internal, Stream},
    {507013, "SYS_DMA", "a copy between host and card failed", CHECK_CARD, Unavailable, Stream},
    {507014, "AICORE_TIMEOUT", "an operator took too long on the AI Core", CHECK_OPERATOR, Internal, Stream},
    {507015, "AICORE_EXCEPTION", "an operator failed on the AI Core", CHECK_OPERATOR, Internal, Stream},
    {507017, "AICPU_TIMEOUT", "an operator took too long on the AI CPU", CHECK_OPERATOR, Internal, Stream},
    {507018, "AICPU_EXCEPTION", "an operator failed on the AI CPU", CHECK_OPERATOR, Internal, Stream},
    {507033, "DEV_SETUP_ERROR", "the card could not be started: in use elsewhere, lost, or not allowed for this user",
     "check npu-smi info, other containers with this card, and the group HwHiAiUser", Unavailable, FaultScope::Device},
    {507034, "VECTOR_CORE_TIMEOUT", "an operator took too long on the vector core", CHECK_OPERATOR, Internal, Stream},
    {507035, "VECTOR_CORE_EXCEPTION", "an operator failed on the vector core", CHECK_OPERATOR, Internal, Stream},
    {507046, "STREAM_SYNC_TIMEOUT", "the card did not finish in the allowed time", CHECK_CARD, Unavailable, FaultScope::Device},
    {507053, "DEVICE_MEM_ERROR", "the card's memory is faulty", "restart the card (npu-smi set -t reset); replace it if it comes again", Unavailable, FaultScope::Device},
    {507054, "HBM_MULTI_BIT_ECC_ERROR", "several bits of the card's memory were wrong at once (ECC)",
     "restart the card (npu-smi set -t reset); replace it if it comes again", Unavailable, FaultScope::Device},
    {507899, "DRV_INTERNAL_ERROR", "the driver failed: often no memory is left, or the card is in use elsewhere", CHECK_CARD, Unavailable, FaultScope::Device},
    {507900, "AICPU_INTERNAL_ERROR", "the AI CPU failed inside", CHECK_CARD, Internal, Stream},
    {507901, "SOCKET_CLOSE", "the link to the card is gone: the card is lost", CHECK_CARD, Unavailable, FaultScope::Device},
    {545000, "GE_INTERNAL_ERROR", "the graph engine failed inside", SEE_LOG, Internal, Call},
    {545001, "LOAD_MODEL", "the model could not be loaded onto the card", CHECK_FIT, Internal, Call},
    {545009, "UNLOAD_MODEL", "the model could not be unloaded", SEE_LOG, Internal, Call},
    {545601, "MODEL_EXECUTE_TIMEOUT", "the run of the model took too long", CHECK_CARD, Unavailable, Stream},
};

static_assert(std::is_sorted(std::begin(CODES), std::end(CODES), [](const AclErrorInfo& a, const AclErrorInfo& b) { return a.code < b.code; }));

/** CANN's own lines are many; the newest say most. */
constexpr size_t OWN_TEXT_LIMIT = 600;

std::string OwnText(const AclApi& api) {
  const char* text = api.aclGetRecentErrMsg == nullptr ? nullptr : api.aclGetRecentErrMsg();
  std::string own = text == nullptr ? "" : text;
  while (!own.empty() && (own.back() == '\n' || own.back() == ' ')) own.pop_back();
  if (own.size() > OWN_TEXT_LIMIT) own = Utf8Prefix(own, OWN_TEXT_LIMIT) + " ...";
  return own;
}

}  // namespace

const AclErrorInfo* FindAclError(aclError code) {
  const auto* found = std::lower_bound(std::begin(CODES), std::end(CODES), code, [](const AclErrorInfo& info, aclError wanted) { return info.code < wanted; });
  return found != std::end(CODES) && found->code == code ? found : nullptr;
}

std::string DescribeAclError(aclError code) {
  const AclErrorInfo* info = FindAclError(code);
  if (info != nullptr) return std::to_string(code) + " " + info->name + ": " + info->meaning;
  return std::to_string(code) + ": a code that is not in CANN's public tables as known here";
}

Error MakeError(const AclApi& api, aclError code, const std::string& action) {
  const AclErrorInfo* info = FindAclError(code);
  const std::string own = OwnText(api);
  std::string message = action + " failed with " + DescribeAclError(code) + ". Next: " + (info == nullptr ? SEE_LOG : info->advice) + ".";
  if (!own.empty()) message += " CANN says: " + own;
  // Unknown codes of the runtime's own class may mean anything; a new stream is the least that has to be made.
  if (info == nullptr) return Error(Internal, message, code, code >= 500000 ? Stream : Call);
  return Error(info->kind, message, code, info->scope);
}

void Check(const AclApi& api, aclError code, const std::string& action) {
  if (code != ACL_SUCCESS) throw MakeError(api, code, action);
}

}  // namespace npu_console::ascend
