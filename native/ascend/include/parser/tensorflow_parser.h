// GE's TensorFlow parser.
#pragma once

#include <map>

#include "graph/graph.h"

namespace ge {

GE_API graphStatus aclgrphParseTensorFlow(const char *model_file, const std::map<AscendString, AscendString> &parser_params, Graph &graph);

}  // namespace ge
