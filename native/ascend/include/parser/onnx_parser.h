// GE's ONNX parser. Whether it may run on two threads at once is not documented: callers hold a lock around it.
#pragma once

#include <map>

#include "graph/graph.h"

namespace ge {

GE_API graphStatus aclgrphParseONNX(const char *model_file, const std::map<AscendString, AscendString> &parser_params, Graph &graph);
GE_API graphStatus aclgrphParseONNXFromMem(const char *buffer, size_t size, const std::map<AscendString, AscendString> &parser_params,
                                           Graph &graph);

}  // namespace ge
