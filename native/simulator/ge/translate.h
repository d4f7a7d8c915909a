// What the simulated GE libraries share: the inside of a graph and the way into the engine. Compiled with the old string ABI.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/ge_engine.h"
#include "graph/graph.h"

namespace ge {

class GraphImpl {
 public:
  std::string name;
  std::vector<char> onnx;
  std::vector<std::pair<std::string, std::string>> parserParams;
};

/** The libraries' way to a graph's inside. */
class GE_API GraphAccess {
 public:
  static void Fill(Graph &graph, const void *onnx, size_t bytes, const std::map<AscendString, AscendString> &params);
  static simulator::GeGraphSource Source(const Graph &graph);
};

/** Borrowed: valid as long as the map. */
inline simulator::GeOptions ToGeOptions(const std::map<AscendString, AscendString> &options) {
  simulator::GeOptions result;
  for (const auto &[key, value] : options) result.push_back({key.GetString(), value.GetString()});
  return result;
}

}  // namespace ge
