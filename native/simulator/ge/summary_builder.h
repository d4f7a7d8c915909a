// How the session library makes a summary.
#pragma once

#include "core/ge_engine.h"
#include "ge/ge_graph_compile_summary.h"

namespace ge {

class GE_API CompiledGraphSummary::Builder {
 public:
  static CompiledGraphSummaryPtr Build(const simulator::GeSummary &summary);
};

}  // namespace ge
