// The simulated libgraph.so.
#include "graph/graph.h"

#include "ge/translate.h"

namespace ge {

Graph::Graph() : Graph("graph") {}
Graph::Graph(const char *name) : impl_(std::make_shared<GraphImpl>()) { impl_->name = name == nullptr ? "" : name; }
bool Graph::IsValid() const { return !impl_->onnx.empty(); }

graphStatus Graph::GetName(AscendString &name) const {
  name = AscendString(impl_->name.c_str());
  return GRAPH_SUCCESS;
}

graphStatus Graph::CopyFrom(const Graph &graph) {
  impl_ = std::make_shared<GraphImpl>(*graph.impl_);
  return GRAPH_SUCCESS;
}

void GraphAccess::Fill(Graph &graph, const void *onnx, size_t bytes, const std::map<AscendString, AscendString> &params) {
  const char *data = static_cast<const char *>(onnx);
  graph.impl_->onnx.assign(data, data + bytes);
  graph.impl_->parserParams.clear();
  for (const auto &[key, value] : params) graph.impl_->parserParams.emplace_back(key.GetString(), value.GetString());
}

simulator::GeGraphSource GraphAccess::Source(const Graph &graph) {
  simulator::GeGraphSource source{graph.impl_->name.c_str(), graph.impl_->onnx.data(), graph.impl_->onnx.size(), {}};
  for (const auto &[key, value] : graph.impl_->parserParams) source.parserParams.push_back({key.c_str(), value.c_str()});
  return source;
}

}  // namespace ge
