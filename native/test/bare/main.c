/* bare_host LIBRARY BACKEND_CONFIG MODEL_DIRECTORY: infers x = 0.5, 1.25, 2, 2.75 [1,4] and prints y. */
#include <stdio.h>
#include <stdlib.h>

#include "bare_server.h"

int main(int argument_count, char** arguments) {
  if (argument_count != 4) return 2;
  const int64_t shape[] = {1, 4};
  const float input[] = {0.5F, 1.25F, 2, 2.75F};
  const BareJob job = {.library = arguments[1], .backend_config = arguments[2], .model_directory = arguments[3], .model_config = "{\"name\":\"bare\"}",
                       .input_name = "x", .input_shape = shape, .input_rank = 2, .input = input, .output_name = "y"};
  float* output = NULL;
  size_t count = 0;
  if (bare_serve(&job, &output, &count) != 0) return 1;
  for (size_t index = 0; index < count; ++index) printf("%.9g\n", output[index]);
  free(output);
  return 0;
}
