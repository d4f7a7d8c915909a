// AscendCL's runtime part as we call it: types, numbers and signatures of Huawei's public interface, declared in our own words so that
// nothing of CANN is needed to build. On a machine with CANN the same names come from its own headers.
#pragma once

#include <cstddef>
#include <cstdint>

#define ASCEND_API __attribute__((visibility("default")))

using aclError = int;
using aclrtStream = void *;
using aclrtContext = void *;
using aclrtEvent = void *;
using aclFloat16 = uint16_t;

// Error codes: 1xxxxx caller or environment, 2xxxxx resource, 3xxxxx business, 5xxxxx internal.
constexpr aclError ACL_SUCCESS = 0;
constexpr aclError ACL_ERROR_INVALID_PARAM = 100000;
constexpr aclError ACL_ERROR_UNINITIALIZE = 100001;
constexpr aclError ACL_ERROR_REPEAT_INITIALIZE = 100002;
constexpr aclError ACL_ERROR_INVALID_FILE = 100003;
constexpr aclError ACL_ERROR_PARSE_FILE = 100006;
constexpr aclError ACL_ERROR_INVALID_MODEL_ID = 100011;
constexpr aclError ACL_ERROR_DESERIALIZE_MODEL = 100012;
constexpr aclError ACL_ERROR_PARSE_MODEL = 100013;
constexpr aclError ACL_ERROR_READ_MODEL_FAILURE = 100014;
constexpr aclError ACL_ERROR_MODEL_SIZE_INVALID = 100015;
constexpr aclError ACL_ERROR_MODEL_INPUT_NOT_MATCH = 100017;
constexpr aclError ACL_ERROR_MODEL_OUTPUT_NOT_MATCH = 100018;
constexpr aclError ACL_ERROR_MODEL_NOT_DYNAMIC = 100019;
constexpr aclError ACL_ERROR_UNSUPPORTED_DATA_TYPE = 100026;
constexpr aclError ACL_ERROR_FORMAT_NOT_MATCH = 100027;
constexpr aclError ACL_ERROR_REPEAT_FINALIZE = 100037;
constexpr aclError ACL_ERROR_COMPILING_STUB_MODE = 100039;
constexpr aclError ACL_ERROR_INVALID_OPP_PATH = 148049;
constexpr aclError ACL_ERROR_BAD_ALLOC = 200000;
constexpr aclError ACL_ERROR_API_NOT_SUPPORT = 200001;
constexpr aclError ACL_ERROR_FEATURE_UNSUPPORTED = 200006;
constexpr aclError ACL_ERROR_INTERNAL_ERROR = 500000;
constexpr aclError ACL_ERROR_FAILURE = 500001;
constexpr aclError ACL_ERROR_GE_FAILURE = 500002;
constexpr aclError ACL_ERROR_RT_FAILURE = 500003;
constexpr aclError ACL_ERROR_DRV_FAILURE = 500004;

constexpr aclError ACL_ERROR_RT_PARAM_INVALID = 107000;
constexpr aclError ACL_ERROR_RT_INVALID_DEVICEID = 107001;
constexpr aclError ACL_ERROR_RT_CONTEXT_NULL = 107002;
constexpr aclError ACL_ERROR_RT_STREAM_CONTEXT = 107003;
constexpr aclError ACL_ERROR_RT_INVALID_HANDLE = 107017;
constexpr aclError ACL_ERROR_RT_WAIT_TIMEOUT = 107019;
constexpr aclError ACL_ERROR_RT_TASK_TIMEOUT = 107020;
constexpr aclError ACL_ERROR_RT_DEVICE_TASK_ABORT = 107022;
constexpr aclError ACL_ERROR_RT_FEATURE_NOT_SUPPORT = 207000;
constexpr aclError ACL_ERROR_RT_MEMORY_ALLOCATION = 207001;
constexpr aclError ACL_ERROR_RT_NO_DEVICE = 207004;
constexpr aclError ACL_ERROR_RT_RESOURCE_ALLOC_FAIL = 207005;
constexpr aclError ACL_ERROR_RT_NO_PERMISSION = 207006;
constexpr aclError ACL_ERROR_RT_NO_STREAM_RESOURCE = 207008;
constexpr aclError ACL_ERROR_RT_DEVICE_OOM = 207018;
constexpr aclError ACL_ERROR_RT_TIMEOUT = 207020;
constexpr aclError ACL_ERROR_RT_INTERNAL_ERROR = 507000;
constexpr aclError ACL_ERROR_RT_TS_ERROR = 507001;
constexpr aclError ACL_ERROR_RT_SOC_VERSION = 507008;
constexpr aclError ACL_ERROR_RT_LOST_HEARTBEAT = 507010;
constexpr aclError ACL_ERROR_RT_MODEL_EXECUTE = 507011;
constexpr aclError ACL_ERROR_RT_SYS_DMA = 507013;
constexpr aclError ACL_ERROR_RT_AICORE_TIMEOUT = 507014;
constexpr aclError ACL_ERROR_RT_AICORE_EXCEPTION = 507015;
constexpr aclError ACL_ERROR_RT_DEV_SETUP_ERROR = 507033;
constexpr aclError ACL_ERROR_RT_STREAM_SYNC_TIMEOUT = 507046;
constexpr aclError ACL_ERROR_RT_DEVICE_MEM_ERROR = 507053;
constexpr aclError ACL_ERROR_RT_HBM_MULTI_BIT_ECC_ERROR = 507054;
constexpr aclError ACL_ERROR_RT_DRV_INTERNAL_ERROR = 507899;
constexpr aclError ACL_ERROR_RT_SOCKET_CLOSE = 507901;

enum aclDataType {
  ACL_DT_UNDEFINED = -1,
  ACL_FLOAT = 0,
  ACL_FLOAT16 = 1,
  ACL_INT8 = 2,
  ACL_INT32 = 3,
  ACL_UINT8 = 4,
  ACL_INT16 = 6,
  ACL_UINT16 = 7,
  ACL_UINT32 = 8,
  ACL_INT64 = 9,
  ACL_UINT64 = 10,
  ACL_DOUBLE = 11,
  ACL_BOOL = 12,
  ACL_STRING = 13,
  ACL_COMPLEX64 = 16,
  ACL_COMPLEX128 = 17,
  ACL_BF16 = 27,
  ACL_INT4 = 29,
  ACL_UINT1 = 30,
  ACL_COMPLEX32 = 33,
  ACL_HIFLOAT8 = 34,
  ACL_FLOAT8_E5M2 = 35,
  ACL_FLOAT8_E4M3FN = 36,
  ACL_FLOAT8_E8M0 = 37,
  ACL_FLOAT6_E3M2 = 38,
  ACL_FLOAT6_E2M3 = 39,
  ACL_FLOAT4_E2M1 = 40,
  ACL_FLOAT4_E1M2 = 41,
};

enum aclFormat {
  ACL_FORMAT_UNDEFINED = -1,
  ACL_FORMAT_NCHW = 0,
  ACL_FORMAT_NHWC = 1,
  ACL_FORMAT_ND = 2,
  ACL_FORMAT_NC1HWC0 = 3,
  ACL_FORMAT_FRACTAL_Z = 4,
  ACL_FORMAT_NC1HWC0_C04 = 12,
  ACL_FORMAT_HWCN = 16,
  ACL_FORMAT_NDHWC = 27,
  ACL_FORMAT_FRACTAL_NZ = 29,
  ACL_FORMAT_NCDHW = 30,
  ACL_FORMAT_NDC1HWC0 = 32,
  ACL_FRACTAL_Z_3D = 33,
  ACL_FORMAT_NC = 35,
  ACL_FORMAT_NCL = 47,
};

enum aclrtMemMallocPolicy {
  ACL_MEM_MALLOC_HUGE_FIRST = 0,
  ACL_MEM_MALLOC_HUGE_ONLY = 1,
  ACL_MEM_MALLOC_NORMAL_ONLY = 2,
  ACL_MEM_MALLOC_HUGE_FIRST_P2P = 3,
  ACL_MEM_MALLOC_HUGE_ONLY_P2P = 4,
  ACL_MEM_MALLOC_NORMAL_ONLY_P2P = 5,
  ACL_MEM_MALLOC_HUGE1G_ONLY = 6,
  ACL_MEM_MALLOC_HUGE1G_ONLY_P2P = 7,
};

enum aclrtMemcpyKind {
  ACL_MEMCPY_HOST_TO_HOST = 0,
  ACL_MEMCPY_HOST_TO_DEVICE = 1,
  ACL_MEMCPY_DEVICE_TO_HOST = 2,
  ACL_MEMCPY_DEVICE_TO_DEVICE = 3,
  ACL_MEMCPY_DEFAULT = 4,
  ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE = 5,
  ACL_MEMCPY_INNER_DEVICE_TO_DEVICE = 6,
  ACL_MEMCPY_INTER_DEVICE_TO_DEVICE = 7,
};

enum aclrtMemAttr {
  ACL_DDR_MEM = 0,
  ACL_HBM_MEM = 1,
  ACL_DDR_MEM_HUGE = 2,
  ACL_DDR_MEM_NORMAL = 3,
  ACL_HBM_MEM_HUGE = 4,
  ACL_HBM_MEM_NORMAL = 5,
};

enum aclrtRunMode { ACL_DEVICE = 0, ACL_HOST = 1 };
enum aclrtStreamStatus { ACL_STREAM_STATUS_COMPLETE = 0, ACL_STREAM_STATUS_NOT_READY = 1, ACL_STREAM_STATUS_RESERVED = 0xFFFF };
enum aclrtDeviceStatus { ACL_RT_DEVICE_STATUS_NORMAL = 0, ACL_RT_DEVICE_STATUS_ABNORMAL = 1, ACL_RT_DEVICE_STATUS_END = 0xFFFF };
enum aclrtLastErrLevel { ACL_RT_THREAD_LEVEL = 0 };
enum aclrtDevResLimitType { ACL_RT_DEV_RES_CUBE_CORE = 0, ACL_RT_DEV_RES_VECTOR_CORE = 1 };

enum aclrtDevAttr {
  ACL_DEV_ATTR_AICPU_CORE_NUM = 1,
  ACL_DEV_ATTR_AICORE_CORE_NUM = 101,
  ACL_DEV_ATTR_CUBE_CORE_NUM = 102,
  ACL_DEV_ATTR_VECTOR_CORE_NUM = 201,
  ACL_DEV_ATTR_UBUF_PER_VECTOR_CORE = 204,
  ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE = 301,
  ACL_DEV_ATTR_L2_CACHE_SIZE = 302,
  ACL_DEV_ATTR_PHY_CHIP_ID = 402,
  ACL_DEV_ATTR_DEVICE_FORM_FACTOR = 409,
  ACL_DEV_ATTR_IS_VIRTUAL = 501,
  ACL_DEV_ATTR_NPU_ARCH = 601,
};

/** Percentages; -1 where the chip has no such unit. `memoryUtilization` is always -1, `utilizationExtend` must be null. */
struct aclrtUtilizationInfo {
  int32_t cubeUtilization;
  int32_t vectorUtilization;
  int32_t aicpuUtilization;
  int32_t memoryUtilization;
  void *utilizationExtend;
};

struct aclDataBuffer;
struct aclTensorDesc;

extern "C" {
/** First call of a process; the second and later ones return ACL_ERROR_REPEAT_INITIALIZE and count up. */
ASCEND_API aclError aclInit(const char *configPath);
ASCEND_API aclError aclFinalize();
ASCEND_API aclError aclFinalizeReference(uint64_t *refCount);
/** Newest text first; reading clears it; null when there is none; valid until the thread's next call. */
ASCEND_API const char *aclGetRecentErrMsg();
ASCEND_API aclError aclrtPeekAtLastError(aclrtLastErrLevel level);
ASCEND_API aclError aclrtGetLastError(aclrtLastErrLevel level);
ASCEND_API aclError aclsysGetVersionStr(char *pkgName, char *versionStr);
ASCEND_API aclError aclsysGetVersionNum(char *pkgName, int32_t *versionNum);
ASCEND_API aclError aclrtGetVersion(int32_t *majorVersion, int32_t *minorVersion, int32_t *patchVersion);

ASCEND_API aclError aclrtGetDeviceCount(uint32_t *count);
ASCEND_API aclError aclrtSetDevice(int32_t deviceId);
ASCEND_API aclError aclrtResetDevice(int32_t deviceId);
ASCEND_API aclError aclrtResetDeviceForce(int32_t deviceId);
ASCEND_API aclError aclrtGetDevice(int32_t *deviceId);
ASCEND_API aclError aclrtGetRunMode(aclrtRunMode *runMode);
ASCEND_API const char *aclrtGetSocName();
ASCEND_API aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr, int64_t *value);
ASCEND_API aclError aclrtQueryDeviceStatus(int32_t deviceId, aclrtDeviceStatus *deviceStatus);
ASCEND_API aclError aclrtSynchronizeDevice(void);
ASCEND_API aclError aclrtGetDeviceUtilizationRate(int32_t deviceId, aclrtUtilizationInfo *utilizationInfo);
ASCEND_API aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *free, size_t *total);

/** Core limits exist from CANN 8.3 on: look these up, do not link them. */
ASCEND_API aclError aclrtSetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t value);
ASCEND_API aclError aclrtGetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t *value);
ASCEND_API aclError aclrtResetDeviceResLimit(int32_t deviceId);
ASCEND_API aclError aclrtSetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t value);
ASCEND_API aclError aclrtGetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t *value);
ASCEND_API aclError aclrtResetStreamResLimit(aclrtStream stream);
ASCEND_API aclError aclrtUseStreamResInCurrentThread(aclrtStream stream);
ASCEND_API aclError aclrtUnuseStreamResInCurrentThread(aclrtStream stream);
ASCEND_API aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t *value);

ASCEND_API aclError aclrtCreateContext(aclrtContext *context, int32_t deviceId);
ASCEND_API aclError aclrtDestroyContext(aclrtContext context);
ASCEND_API aclError aclrtSetCurrentContext(aclrtContext context);
ASCEND_API aclError aclrtGetCurrentContext(aclrtContext *context);

ASCEND_API aclError aclrtCreateStream(aclrtStream *stream);
ASCEND_API aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t priority, uint32_t flag);
ASCEND_API aclError aclrtDestroyStream(aclrtStream stream);
ASCEND_API aclError aclrtDestroyStreamForce(aclrtStream stream);
ASCEND_API aclError aclrtSynchronizeStream(aclrtStream stream);
ASCEND_API aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout);
ASCEND_API aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus *status);
ASCEND_API aclError aclrtGetStreamAvailableNum(uint32_t *streamCount);
ASCEND_API aclError aclrtStreamAbort(aclrtStream stream);

ASCEND_API aclError aclrtCreateEvent(aclrtEvent *event);
ASCEND_API aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t flag);
ASCEND_API aclError aclrtDestroyEvent(aclrtEvent event);
ASCEND_API aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);
ASCEND_API aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);
ASCEND_API aclError aclrtSynchronizeEvent(aclrtEvent event);
ASCEND_API aclError aclrtEventElapsedTime(float *ms, aclrtEvent startEvent, aclrtEvent endEvent);

ASCEND_API aclError aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy policy);
ASCEND_API aclError aclrtMallocAlign32(void **devPtr, size_t size, aclrtMemMallocPolicy policy);
ASCEND_API aclError aclrtFree(void *devPtr);
ASCEND_API aclError aclrtMallocHost(void **hostPtr, size_t size);
ASCEND_API aclError aclrtFreeHost(void *hostPtr);
ASCEND_API aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind);
ASCEND_API aclError aclrtMemcpyAsync(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind, aclrtStream stream);
ASCEND_API aclError aclrtMemset(void *devPtr, size_t maxCount, int32_t value, size_t count);
}
