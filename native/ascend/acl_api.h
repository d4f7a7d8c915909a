// AscendCL's functions, looked up at run time: nothing of ours is linked against CANN.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "acl/acl.h"

namespace npu_console::ascend {

/** Functions that every supported CANN has. */
#define ASCEND_REQUIRED_FUNCTIONS(apply)                                                                                                    \
  apply(aclInit) apply(aclrtGetDeviceCount) apply(aclrtSetDevice) apply(aclrtResetDevice) apply(aclrtGetSocName) apply(aclrtGetMemInfo)      \
  apply(aclrtSetCurrentContext) apply(aclrtGetCurrentContext) apply(aclrtCreateStream) apply(aclrtDestroyStream)                            \
  apply(aclrtSynchronizeStream) apply(aclrtMalloc) apply(aclrtFree) apply(aclrtMallocHost) apply(aclrtFreeHost) apply(aclrtMemcpy)          \
  apply(aclrtMemcpyAsync) apply(aclmdlLoadFromFile) apply(aclmdlLoadFromMem) apply(aclmdlUnload) apply(aclmdlQuerySize)                     \
  apply(aclmdlCreateDesc) apply(aclmdlDestroyDesc) apply(aclmdlGetDesc) apply(aclmdlGetNumInputs) apply(aclmdlGetNumOutputs)                \
  apply(aclmdlGetInputSizeByIndex) apply(aclmdlGetOutputSizeByIndex) apply(aclmdlGetInputDims) apply(aclmdlGetOutputDims)                   \
  apply(aclmdlGetInputNameByIndex) apply(aclmdlGetOutputNameByIndex) apply(aclmdlGetInputIndexByName) apply(aclmdlGetInputDataType)         \
  apply(aclmdlGetOutputDataType) apply(aclmdlGetInputFormat) apply(aclmdlGetOutputFormat) apply(aclmdlGetDynamicBatch)                      \
  apply(aclmdlGetDynamicHW) apply(aclmdlGetInputDynamicGearCount) apply(aclmdlGetInputDynamicDims) apply(aclmdlSetDynamicBatchSize)         \
  apply(aclmdlSetDynamicHWSize) apply(aclmdlSetInputDynamicDims) apply(aclmdlCreateDataset) apply(aclmdlDestroyDataset)                     \
  apply(aclmdlGetCurOutputDims) apply(aclmdlAddDatasetBuffer) apply(aclmdlGetDatasetBuffer) apply(aclCreateDataBuffer) apply(aclDestroyDataBuffer) \
  apply(aclGetDataBufferAddr) apply(aclmdlExecute) apply(aclmdlExecuteAsync)

/** Functions of newer packages, or of which we can do without; null where they are missing. */
#define ASCEND_OPTIONAL_FUNCTIONS(apply)                                                                                                    \
  apply(aclGetRecentErrMsg) apply(aclFinalizeReference) apply(aclsysGetVersionStr) apply(aclrtGetVersion) apply(aclrtResetDeviceForce)      \
  apply(aclrtGetRunMode) apply(aclrtGetDeviceInfo) apply(aclrtQueryDeviceStatus) apply(aclrtSynchronizeDevice)                              \
  apply(aclrtSynchronizeStreamWithTimeout) apply(aclrtDestroyStreamForce) apply(aclrtStreamQuery) apply(aclrtStreamAbort)                   \
  apply(aclrtSetDeviceResLimit) apply(aclrtGetDeviceResLimit) apply(aclrtResetDeviceResLimit) apply(aclrtSetStreamResLimit)                 \
  apply(aclrtGetStreamResLimit) apply(aclrtResetStreamResLimit) apply(aclrtUseStreamResInCurrentThread)                                     \
  apply(aclrtUnuseStreamResInCurrentThread) apply(aclrtCreateEvent) apply(aclrtDestroyEvent) apply(aclrtRecordEvent)                        \
  apply(aclrtStreamWaitEvent) apply(aclrtSynchronizeEvent) apply(aclmdlGetDescFromFile) apply(aclmdlGetInputDimsV2)                         \
  apply(aclmdlGetInputDimsRange) apply(aclmdlGetTensorRealName) apply(aclUpdateDataBuffer)                    \
  apply(aclGetDataBufferSizeV2) apply(aclCreateTensorDesc) apply(aclDestroyTensorDesc) apply(aclGetTensorDescNumDims)                       \
  apply(aclGetTensorDescDimV2) apply(aclmdlSetDatasetTensorDesc) apply(aclmdlGetDatasetTensorDesc)

/** The table. One per library directory and process; it lives until the process ends. */
struct AclApi {
#define ASCEND_MEMBER(name) decltype(&::name) name = nullptr;
  ASCEND_REQUIRED_FUNCTIONS(ASCEND_MEMBER)
  ASCEND_OPTIONAL_FUNCTIONS(ASCEND_MEMBER)
#undef ASCEND_MEMBER

  /** Files as the loader found them. */
  std::vector<std::string> libraries;
  /** Our simulated CANN, not Huawei's. */
  bool is_simulated = false;

  /**
   * Opens CANN: libacl_rt.so with libacl_mdl.so (8.5 and later), else libascendcl.so. Does not initialise it.
   * @param directory absolute; empty: where the loader looks by itself
   * @throws Error Unsupported that names what is missing
   */
  static const AclApi& Load(const std::string& directory);

  /** aclInit, once per process; being initialised already is fine. Safe from any thread. @throws Error */
  void Initialize() const;

  /** What this CANN cannot do for want of functions, each a sentence; empty for a new one. */
  std::vector<std::string> MissingFeatures() const;
  /** Of the installed package, as "8.5.0"; empty when it does not say. */
  std::string Version() const;
};

}  // namespace npu_console::ascend
