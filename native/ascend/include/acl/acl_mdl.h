// AscendCL's offline model part (.om) as we call it, declared in our own words.
#pragma once

#include "acl/acl_rt.h"

#define ACL_MAX_DIM_CNT 128
#define ACL_MAX_TENSOR_NAME_LEN 128
#define ACL_MAX_BATCH_NUM 128
#define ACL_MAX_HW_NUM 128
/** Name of the extra input through which the gear of a run reaches a model with gears. */
#define ACL_DYNAMIC_TENSOR_NAME "ascend_mbatch_shape_data"

constexpr aclError ACL_ERROR_GE_PARAM_INVALID = 145000;
constexpr aclError ACL_ERROR_GE_EXEC_NOT_INIT = 145001;
constexpr aclError ACL_ERROR_GE_EXEC_MODEL_PATH_INVALID = 145002;
constexpr aclError ACL_ERROR_GE_EXEC_MODEL_ID_INVALID = 145003;
constexpr aclError ACL_ERROR_GE_DYNAMIC_INPUT_ADDR_INVALID = 145011;
constexpr aclError ACL_ERROR_GE_DYNAMIC_INPUT_LENGTH_INVALID = 145012;
constexpr aclError ACL_ERROR_GE_DYNAMIC_BATCH_SIZE_INVALID = 145013;
constexpr aclError ACL_ERROR_GE_FORMAT_INVALID = 145020;
constexpr aclError ACL_ERROR_GE_SHAPE_INVALID = 145021;
constexpr aclError ACL_ERROR_GE_DATATYPE_INVALID = 145022;
constexpr aclError ACL_ERROR_GE_MEMORY_ALLOCATION = 245000;
constexpr aclError ACL_ERROR_GE_INTERNAL_ERROR = 545000;
constexpr aclError ACL_ERROR_GE_LOAD_MODEL = 545001;
constexpr aclError ACL_ERROR_GE_UNLOAD_MODEL = 545009;
constexpr aclError ACL_ERROR_GE_MODEL_EXECUTE_TIMEOUT = 545601;

struct aclmdlDataset;
struct aclmdlDesc;

struct aclmdlIODims {
  char name[ACL_MAX_TENSOR_NAME_LEN];
  size_t dimCount;
  int64_t dims[ACL_MAX_DIM_CNT];
};

struct aclmdlIODimsRange {
  size_t rangeCount;
  int64_t range[ACL_MAX_DIM_CNT][2];
};

struct aclmdlBatch {
  size_t batchCount;
  uint64_t batch[ACL_MAX_BATCH_NUM];
};

struct aclmdlHW {
  size_t hwCount;
  uint64_t hw[ACL_MAX_HW_NUM][2];
};

extern "C" {
ASCEND_API aclError aclmdlLoadFromFile(const char *modelPath, uint32_t *modelId);
ASCEND_API aclError aclmdlLoadFromMem(const void *model, size_t modelSize, uint32_t *modelId);
ASCEND_API aclError aclmdlLoadFromFileWithMem(const char *modelPath, uint32_t *modelId, void *workPtr, size_t workSize, void *weightPtr,
                                              size_t weightSize);
ASCEND_API aclError aclmdlQuerySize(const char *fileName, size_t *workSize, size_t *weightSize);
ASCEND_API aclError aclmdlQuerySizeFromMem(const void *model, size_t modelSize, size_t *workSize, size_t *weightSize);
ASCEND_API aclError aclmdlUnload(uint32_t modelId);

ASCEND_API aclmdlDesc *aclmdlCreateDesc();
ASCEND_API aclError aclmdlDestroyDesc(aclmdlDesc *modelDesc);
ASCEND_API aclError aclmdlGetDesc(aclmdlDesc *modelDesc, uint32_t modelId);
ASCEND_API aclError aclmdlGetDescFromFile(aclmdlDesc *modelDesc, const char *modelPath);
ASCEND_API aclError aclmdlGetDescFromMem(aclmdlDesc *modelDesc, const void *model, size_t modelSize);
ASCEND_API size_t aclmdlGetNumInputs(aclmdlDesc *modelDesc);
ASCEND_API size_t aclmdlGetNumOutputs(aclmdlDesc *modelDesc);
ASCEND_API size_t aclmdlGetInputSizeByIndex(aclmdlDesc *modelDesc, size_t index);
ASCEND_API size_t aclmdlGetOutputSizeByIndex(aclmdlDesc *modelDesc, size_t index);
ASCEND_API aclError aclmdlGetInputDims(const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *dims);
ASCEND_API aclError aclmdlGetInputDimsV2(const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *dims);
ASCEND_API aclError aclmdlGetOutputDims(const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *dims);
ASCEND_API aclError aclmdlGetCurOutputDims(const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *dims);
ASCEND_API aclError aclmdlGetInputDimsRange(const aclmdlDesc *modelDesc, size_t index, aclmdlIODimsRange *dimsRange);
ASCEND_API const char *aclmdlGetInputNameByIndex(const aclmdlDesc *modelDesc, size_t index);
ASCEND_API const char *aclmdlGetOutputNameByIndex(const aclmdlDesc *modelDesc, size_t index);
ASCEND_API aclError aclmdlGetInputIndexByName(const aclmdlDesc *modelDesc, const char *name, size_t *index);
ASCEND_API aclError aclmdlGetOutputIndexByName(const aclmdlDesc *modelDesc, const char *name, size_t *index);
ASCEND_API aclDataType aclmdlGetInputDataType(const aclmdlDesc *modelDesc, size_t index);
ASCEND_API aclDataType aclmdlGetOutputDataType(const aclmdlDesc *modelDesc, size_t index);
ASCEND_API aclFormat aclmdlGetInputFormat(const aclmdlDesc *modelDesc, size_t index);
ASCEND_API aclFormat aclmdlGetOutputFormat(const aclmdlDesc *modelDesc, size_t index);
ASCEND_API const char *aclmdlGetTensorRealName(const aclmdlDesc *modelDesc, const char *name);

ASCEND_API aclError aclmdlGetDynamicBatch(const aclmdlDesc *modelDesc, aclmdlBatch *batch);
/** `index` is -1 (as size_t) for the whole model, here and in the next two. */
ASCEND_API aclError aclmdlGetDynamicHW(const aclmdlDesc *modelDesc, size_t index, aclmdlHW *hw);
ASCEND_API aclError aclmdlGetInputDynamicGearCount(const aclmdlDesc *modelDesc, size_t index, size_t *gearCount);
ASCEND_API aclError aclmdlGetInputDynamicDims(const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *dims, size_t gearCount);
ASCEND_API aclError aclmdlSetDynamicBatchSize(uint32_t modelId, aclmdlDataset *dataset, size_t index, uint64_t batchSize);
ASCEND_API aclError aclmdlSetDynamicHWSize(uint32_t modelId, aclmdlDataset *dataset, size_t index, uint64_t height, uint64_t width);
ASCEND_API aclError aclmdlSetInputDynamicDims(uint32_t modelId, aclmdlDataset *dataset, size_t index, const aclmdlIODims *dims);
ASCEND_API aclError aclmdlSetInputAIPP(uint32_t modelId, aclmdlDataset *dataset, size_t index, const void *aippParmsSet);

ASCEND_API aclTensorDesc *aclCreateTensorDesc(aclDataType dataType, int numDims, const int64_t *dims, aclFormat format);
ASCEND_API void aclDestroyTensorDesc(const aclTensorDesc *desc);
ASCEND_API size_t aclGetTensorDescNumDims(const aclTensorDesc *desc);
ASCEND_API aclError aclGetTensorDescDimV2(const aclTensorDesc *desc, size_t index, int64_t *dimSize);
ASCEND_API aclDataType aclGetTensorDescType(const aclTensorDesc *desc);
ASCEND_API aclFormat aclGetTensorDescFormat(const aclTensorDesc *desc);
ASCEND_API size_t aclGetTensorDescSize(const aclTensorDesc *desc);
ASCEND_API aclError aclmdlSetDatasetTensorDesc(aclmdlDataset *dataset, aclTensorDesc *tensorDesc, size_t index);
ASCEND_API aclTensorDesc *aclmdlGetDatasetTensorDesc(const aclmdlDataset *dataset, size_t index);

ASCEND_API aclmdlDataset *aclmdlCreateDataset();
ASCEND_API aclError aclmdlDestroyDataset(const aclmdlDataset *dataset);
ASCEND_API aclError aclmdlAddDatasetBuffer(aclmdlDataset *dataset, aclDataBuffer *dataBuffer);
ASCEND_API size_t aclmdlGetDatasetNumBuffers(const aclmdlDataset *dataset);
ASCEND_API aclDataBuffer *aclmdlGetDatasetBuffer(const aclmdlDataset *dataset, size_t index);
ASCEND_API aclDataBuffer *aclCreateDataBuffer(void *data, size_t size);
/** Does not free the memory it points to. */
ASCEND_API aclError aclDestroyDataBuffer(const aclDataBuffer *dataBuffer);
ASCEND_API aclError aclUpdateDataBuffer(aclDataBuffer *dataBuffer, void *data, size_t size);
ASCEND_API void *aclGetDataBufferAddr(const aclDataBuffer *dataBuffer);
ASCEND_API size_t aclGetDataBufferSizeV2(const aclDataBuffer *dataBuffer);
ASCEND_API size_t aclDataTypeSize(aclDataType dataType);

ASCEND_API aclError aclmdlExecute(uint32_t modelId, const aclmdlDataset *input, aclmdlDataset *output);
ASCEND_API aclError aclmdlExecuteAsync(uint32_t modelId, const aclmdlDataset *input, aclmdlDataset *output, aclrtStream stream);
}
