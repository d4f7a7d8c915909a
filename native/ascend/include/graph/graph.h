// ge::Graph: what a parser makes of a model file and a session compiles.
#pragma once

#include <memory>
#include <vector>

#include "graph/ascend_string.h"

namespace ge {

class GraphImpl;

class GE_API Graph {
 public:
  Graph();
  explicit Graph(const char *name);
  graphStatus GetName(AscendString &name) const;
  bool IsValid() const;
  graphStatus CopyFrom(const Graph &graph);

 private:
  friend class GraphAccess;
  std::shared_ptr<GraphImpl> impl_;
};

}  // namespace ge
