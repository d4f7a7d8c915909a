/* The C interface that the Python package ais_bench calls through ctypes: a model on a card, run by one caller at a time, from any thread. Functions that can
   fail say so by what they return, and why by npu_om_error(). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NPU_OM_EXPORT __attribute__((visibility("default")))

typedef struct npu_om_session npu_om_session;

typedef struct {
  const void* data; /* host memory */
  size_t bytes;
  const int64_t* dims;
  size_t rank;
} npu_om_tensor;

/* Of the last call that failed on this thread; valid until the next one. */
NPU_OM_EXPORT const char* npu_om_error(void);

/* How many logical devices this process sees; -1: failed. `cann_directory`: folder with CANN's libraries; NULL or "": the loader's own search. */
NPU_OM_EXPORT int32_t npu_om_device_count(const char* cann_directory);

/* Loads a copy of the model onto the device; NULL: failed. `acl_config`: JSON file for aclInit, of effect only in the first call of the process; NULL: none. */
NPU_OM_EXPORT npu_om_session* npu_om_open(const char* cann_directory, int32_t device, const char* path, const char* acl_config);
/* Unloads it. NULL is let pass. */
NPU_OM_EXPORT void npu_om_close(npu_om_session* session);

/* What the model is, as tools/om_json.h has it; valid until the session is closed. */
NPU_OM_EXPORT const char* npu_om_describe(npu_om_session* session);

/* Copies the inputs to the card, runs, copies the outputs back; 0, or -1: failed. Shapes must be those the model was compiled for: nothing is padded. `inputs` is
   borrowed for the call. `milliseconds`: copy in, run, copy out. */
NPU_OM_EXPORT int npu_om_run(npu_om_session* session, const npu_om_tensor* inputs, size_t count, double milliseconds[3]);

/* An output of the last run, valid until the next one; 0, or -1: there is none. */
NPU_OM_EXPORT int npu_om_output(npu_om_session* session, size_t index, npu_om_tensor* output);

#ifdef __cplusplus
}
#endif
