// Building an .om in the process, without the atc command.
#pragma once

#include <map>
#include <memory>

#include "graph/graph.h"

namespace ge {

struct ModelBufferData {
  std::shared_ptr<uint8_t> data;
  uint64_t length = 0;
};

GE_API graphStatus aclgrphBuildInitialize(std::map<AscendString, AscendString> &global_options);
GE_API void aclgrphBuildFinalize();
GE_API graphStatus aclgrphBuildModel(const Graph &graph, const std::map<AscendString, AscendString> &build_options, ModelBufferData &model);
/** Writes `<output_file>.om`. */
GE_API graphStatus aclgrphSaveModel(const char_t *output_file, const ModelBufferData &model);

}  // namespace ge
