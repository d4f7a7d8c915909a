// The simulated libacl_rt.so: initialisation, devices, core limits and contexts. Each function checks its arguments and hands over to the runtime.
#include "acl/acl_rt.h"

#include <algorithm>
#include <cstring>

#include "acl/calls.h"
#include "core/call_log.h"
#include "core/shared_state.h"

using namespace simulator;

namespace {

/** Version of the interface that is simulated: CANN 9.1. */
constexpr int32_t VERSION[] = {1, 17, 0};
constexpr char CANN_VERSION[] = "9.1.0";
constexpr int32_t CANN_VERSION_NUMBER = 90100;

aclError Device_(int32_t id, Device *&device) {
  device = Rt().FindDevice(id);
  return device == nullptr ? Fail(ACL_ERROR_RT_INVALID_DEVICEID, "device " + std::to_string(id) + " does not exist") : ACL_SUCCESS;
}

bool IsLimitType(aclrtDevResLimitType type) { return type == ACL_RT_DEV_RES_CUBE_CORE || type == ACL_RT_DEV_RES_VECTOR_CORE; }

/** Takes a call that succeeded down; it names its device. */
aclError NotedOn(const char *name, aclError code, int32_t device) {
  if (code == ACL_SUCCESS) Note([&] { return Call{name, device, 0, 0, 0, {}}; });
  return code;
}

uint32_t PickLimit(const CoreShare &share, aclrtDevResLimitType type) {
  return static_cast<uint32_t>(type == ACL_RT_DEV_RES_CUBE_CORE ? share.cube : share.vector);
}

}  // namespace

aclError aclInit(const char *configPath) { return Rt().Initialize(configPath); }
aclError aclFinalize() { return Rt().Finalize(); }
aclError aclFinalizeReference(uint64_t *refCount) { return Rt().FinalizeReference(refCount); }
const char *aclGetRecentErrMsg() { return TakeErrorTexts(); }
aclError aclrtPeekAtLastError(aclrtLastErrLevel) { return LastError(false); }
aclError aclrtGetLastError(aclrtLastErrLevel) { return LastError(true); }

aclError aclsysGetVersionStr(char *pkgName, char *versionStr) {
  if (pkgName == nullptr || versionStr == nullptr) return NullArgument("aclsysGetVersionStr");
  std::strcpy(versionStr, CANN_VERSION);
  return ACL_SUCCESS;
}

aclError aclsysGetVersionNum(char *pkgName, int32_t *versionNum) {
  if (pkgName == nullptr || versionNum == nullptr) return NullArgument("aclsysGetVersionNum");
  *versionNum = CANN_VERSION_NUMBER;
  return ACL_SUCCESS;
}

aclError aclrtGetVersion(int32_t *majorVersion, int32_t *minorVersion, int32_t *patchVersion) {
  if (majorVersion == nullptr || minorVersion == nullptr || patchVersion == nullptr) return NullArgument("aclrtGetVersion");
  *majorVersion = VERSION[0];
  *minorVersion = VERSION[1];
  *patchVersion = VERSION[2];
  return ACL_SUCCESS;
}

// --- devices

aclError aclrtGetDeviceCount(uint32_t *count) {
  return Initialized([&]() -> aclError {
    if (count == nullptr) return NullArgument("aclrtGetDeviceCount");
    *count = 0;
    // A user who may not open any device sees none.
    for (size_t id = 0; id < Rt().deviceCount(); id++) {
      if (!Settings::Instance().HasWholeFault(FaultKind::Permission, Rt().FindDevice(static_cast<int>(id))->logicId)) {
        *count = static_cast<uint32_t>(Rt().deviceCount());
      }
    }
    return ACL_SUCCESS;
  });
}

aclError aclrtSetDevice(int32_t deviceId) {
  return Initialized([&] { return NotedOn("aclrtSetDevice", Rt().SetDevice(deviceId), deviceId); });
}
aclError aclrtResetDevice(int32_t deviceId) {
  return Initialized([&] { return NotedOn("aclrtResetDevice", Rt().ResetDevice(deviceId, false), deviceId); });
}
aclError aclrtResetDeviceForce(int32_t deviceId) {
  return Initialized([&] { return NotedOn("aclrtResetDeviceForce", Rt().ResetDevice(deviceId, true), deviceId); });
}

aclError aclrtGetDevice(int32_t *deviceId) {
  return Initialized([&]() -> aclError {
    if (deviceId == nullptr) return NullArgument("aclrtGetDevice");
    Device *device = nullptr;
    if (const aclError code = Rt().CurrentDevice(device); code != ACL_SUCCESS) return code;
    *deviceId = device->id;
    return ACL_SUCCESS;
  });
}

aclError aclrtGetRunMode(aclrtRunMode *runMode) {
  return Initialized([&]() -> aclError {
    if (runMode == nullptr) return NullArgument("aclrtGetRunMode");
    *runMode = ACL_HOST;
    return ACL_SUCCESS;
  });
}

const char *aclrtGetSocName() {
  const Device *first = Rt().FindDevice(0);
  return Rt().RequireCards() != ACL_SUCCESS || first == nullptr ? nullptr : first->profile.soc.c_str();
}

aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr, int64_t *value) {
  return Initialized([&]() -> aclError {
    if (value == nullptr) return NullArgument("aclrtGetDeviceInfo");
    Device *device = nullptr;
    if (const aclError code = Device_(static_cast<int32_t>(deviceId), device); code != ACL_SUCCESS) return code;
    const Profile &profile = device->profile;
    switch (attr) {
      case ACL_DEV_ATTR_AICPU_CORE_NUM: *value = 6; break;
      case ACL_DEV_ATTR_AICORE_CORE_NUM: case ACL_DEV_ATTR_CUBE_CORE_NUM: *value = profile.cubeCores; break;
      case ACL_DEV_ATTR_VECTOR_CORE_NUM: *value = profile.vectorCores; break;
      case ACL_DEV_ATTR_UBUF_PER_VECTOR_CORE: *value = 192 << 10; break;
      case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE: *value = static_cast<int64_t>(profile.memoryMegabytes << 20); break;
      case ACL_DEV_ATTR_L2_CACHE_SIZE: *value = static_cast<int64_t>(profile.l2Megabytes << 20); break;
      case ACL_DEV_ATTR_PHY_CHIP_ID: *value = device->logicId; break;
      case ACL_DEV_ATTR_DEVICE_FORM_FACTOR: case ACL_DEV_ATTR_IS_VIRTUAL: *value = 0; break;
      case ACL_DEV_ATTR_NPU_ARCH: *value = profile.npuArch; break;
      default: return Fail(ACL_ERROR_RT_PARAM_INVALID, "unknown device attribute " + std::to_string(attr));
    }
    return ACL_SUCCESS;
  });
}

aclError aclrtQueryDeviceStatus(int32_t deviceId, aclrtDeviceStatus *deviceStatus) {
  return Initialized([&]() -> aclError {
    if (deviceStatus == nullptr) return NullArgument("aclrtQueryDeviceStatus");
    Device *device = nullptr;
    if (const aclError code = Device_(deviceId, device); code != ACL_SUCCESS) return code;
    Settings &settings = Settings::Instance();
    const bool isAbnormal = settings.HasFault(FaultKind::CardLost, device->logicId) || settings.HasFault(FaultKind::Ecc, device->logicId) ||
                            settings.HasFault(FaultKind::Hang, device->logicId);
    *deviceStatus = isAbnormal ? ACL_RT_DEVICE_STATUS_ABNORMAL : ACL_RT_DEVICE_STATUS_NORMAL;
    return ACL_SUCCESS;
  });
}

aclError aclrtSynchronizeDevice() {
  return Initialized([] { return Rt().SynchronizeDevice(); });
}

aclError aclrtGetDeviceUtilizationRate(int32_t deviceId, aclrtUtilizationInfo *utilizationInfo) {
  return Initialized([&]() -> aclError {
    if (utilizationInfo == nullptr) return NullArgument("aclrtGetDeviceUtilizationRate");
    if (utilizationInfo->utilizationExtend != nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "utilizationExtend has to be null");
    Device *device = nullptr;
    if (const aclError code = Device_(deviceId, device); code != ACL_SUCCESS) return code;
    if (const aclError code = Rt().RequireLink(*device, FaultPoint::Sync); code != ACL_SUCCESS) return code;
    const DeviceLoad load = SharedState::Instance().Load(device->logicId);
    utilizationInfo->cubeUtilization = static_cast<int32_t>(load.cube * 100 + 0.5);
    utilizationInfo->vectorUtilization = device->profile.vectorCores == 0 ? -1 : static_cast<int32_t>(load.vector * 100 + 0.5);
    utilizationInfo->aicpuUtilization = static_cast<int32_t>(load.cube * 10 + 0.5);
    utilizationInfo->memoryUtilization = -1;
    return ACL_SUCCESS;
  });
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *free, size_t *total) {
  return Initialized([&]() -> aclError {
    if (free == nullptr || total == nullptr) return NullArgument("aclrtGetMemInfo");
    Device *device = nullptr;
    if (const aclError code = Rt().CurrentDevice(device); code != ACL_SUCCESS) return code;
    const bool wantsHbm = attr == ACL_HBM_MEM || attr == ACL_HBM_MEM_HUGE || attr == ACL_HBM_MEM_NORMAL;
    *free = 0;
    *total = 0;
    // A chip with DDR answers for its DDR when asked for HBM; a chip with HBM has no DDR.
    if (device->profile.hasHbm && !wantsHbm) return ACL_SUCCESS;
    *total = device->profile.memoryMegabytes << 20;
    *free = *total - std::min<uint64_t>(*total, SharedState::Instance().MemoryInUse(device->logicId));
    return ACL_SUCCESS;
  });
}

// --- core limits

aclError aclrtSetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t value) {
  return Initialized([&]() -> aclError {
    Device *device = nullptr;
    if (const aclError code = Device_(deviceId, device); code != ACL_SUCCESS) return code;
    return IsLimitType(type) ? Rt().SetLimit(*device, type, value) : Fail(ACL_ERROR_RT_PARAM_INVALID, "unknown kind of core");
  });
}

aclError aclrtGetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t *value) {
  return Initialized([&]() -> aclError {
    if (value == nullptr) return NullArgument("aclrtGetDeviceResLimit");
    Device *device = nullptr;
    if (const aclError code = Device_(deviceId, device); code != ACL_SUCCESS) return code;
    *value = PickLimit(Rt().SharesOf(*device, nullptr), type);
    return ACL_SUCCESS;
  });
}

aclError aclrtResetDeviceResLimit(int32_t deviceId) {
  return Initialized([&]() -> aclError {
    Device *device = nullptr;
    if (const aclError code = Device_(deviceId, device); code != ACL_SUCCESS) return code;
    Rt().ClearLimits(*device);
    return ACL_SUCCESS;
  });
}

aclError aclrtSetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t value) {
  return Initialized([&]() -> aclError {
    std::shared_ptr<Stream> found;
    if (const aclError code = Rt().FindStream(ToHandle(stream), found); code != ACL_SUCCESS) return code;
    return IsLimitType(type) ? Rt().SetStreamLimit(*found, type, value) : Fail(ACL_ERROR_RT_PARAM_INVALID, "unknown kind of core");
  });
}

aclError aclrtGetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t *value) {
  return Initialized([&]() -> aclError {
    if (value == nullptr) return NullArgument("aclrtGetStreamResLimit");
    std::shared_ptr<Stream> found;
    if (const aclError code = Rt().FindStream(ToHandle(stream), found); code != ACL_SUCCESS) return code;
    *value = PickLimit(Rt().SharesOf(*Rt().FindDevice(found->device()), found.get()), type);
    return ACL_SUCCESS;
  });
}

aclError aclrtResetStreamResLimit(aclrtStream stream) {
  return Initialized([&]() -> aclError {
    std::shared_ptr<Stream> found;
    if (const aclError code = Rt().FindStream(ToHandle(stream), found); code != ACL_SUCCESS) return code;
    Rt().ClearLimits(*found);
    return ACL_SUCCESS;
  });
}

aclError aclrtUseStreamResInCurrentThread(aclrtStream stream) {
  return Initialized([&] { return Rt().UseStreamLimits(ToHandle(stream), true); });
}
aclError aclrtUnuseStreamResInCurrentThread(aclrtStream stream) {
  return Initialized([&] { return Rt().UseStreamLimits(ToHandle(stream), false); });
}

aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t *value) {
  return Initialized([&]() -> aclError {
    if (value == nullptr) return NullArgument("aclrtGetResInCurrentThread");
    Device *device = nullptr;
    if (const aclError code = Rt().CurrentDevice(device); code != ACL_SUCCESS) return code;
    *value = PickLimit(Rt().SharesOf(*device, Rt().LimitStream().get()), type);
    return ACL_SUCCESS;
  });
}

// --- contexts

aclError aclrtCreateContext(aclrtContext *context, int32_t deviceId) {
  return Initialized([&]() -> aclError {
    if (context == nullptr) return NullArgument("aclrtCreateContext");
    Handle handle = 0;
    const aclError code = Rt().CreateContext(deviceId, handle);
    if (code == ACL_SUCCESS) *context = FromHandle(handle);
    return code;
  });
}

aclError aclrtDestroyContext(aclrtContext context) {
  return Initialized([&] { return Rt().DestroyContext(ToHandle(context)); });
}
aclError aclrtSetCurrentContext(aclrtContext context) {
  return Initialized([&] { return Rt().SetCurrentContext(ToHandle(context)); });
}

aclError aclrtGetCurrentContext(aclrtContext *context) {
  return Initialized([&]() -> aclError {
    if (context == nullptr) return NullArgument("aclrtGetCurrentContext");
    Handle handle = 0;
    const aclError code = Rt().CurrentContext(handle);
    if (code == ACL_SUCCESS) *context = FromHandle(handle);
    return code;
  });
}
