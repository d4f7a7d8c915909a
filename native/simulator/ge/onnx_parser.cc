// The simulated libfmk_onnx_parser.so.
#include "parser/onnx_parser.h"

#include "ge/translate.h"

namespace ge {

graphStatus aclgrphParseONNXFromMem(const char *buffer, size_t size, const std::map<AscendString, AscendString> &parser_params, Graph &graph) {
  if (buffer == nullptr || size == 0) return simulator::GeFail("aclgrphParseONNXFromMem got no model");
  if (simulator::GeCheckOnnx(buffer, size) != simulator::GE_SUCCESS) return GRAPH_FAILED;
  GraphAccess::Fill(graph, buffer, size, parser_params);
  return GRAPH_SUCCESS;
}

graphStatus aclgrphParseONNX(const char *model_file, const std::map<AscendString, AscendString> &parser_params, Graph &graph) {
  simulator::GeNoteParse("aclgrphParseONNX", model_file, ToGeOptions(parser_params));
  graphStatus status = GRAPH_FAILED;
  simulator::GeReadFile(model_file, [&](const void *data, size_t bytes) {
    status = aclgrphParseONNXFromMem(static_cast<const char *>(data), bytes, parser_params, graph);
  });
  return status;
}

}  // namespace ge
