/* A server that is not ours and knows nothing of ours: one model, one instance, one request, and of Triton's API only what the backend under test asks for.
 * A backend that runs in it runs wherever these functions are, so in NVIDIA's server too. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct BareJob {
  const char* library;          /* of the backend */
  const char* backend_config;   /* {"cmdline":{...}} */
  const char* model_directory;  /* the version's folder is below it: 1 */
  const char* model_config;     /* JSON */
  const char* input_name;
  const int64_t* input_shape;
  uint32_t input_rank;
  const float* input;
  const char* output_name;
} BareJob;

/* Loads, infers once, unloads. 0 where the request was answered: then *output holds *count numbers, to be freed by the caller. Says on stderr what went wrong. */
__attribute__((visibility("default"))) int bare_serve(const BareJob* job, float** output, size_t* count);

#ifdef __cplusplus
}
#endif
