// The simulated libfmk_parser.so. TensorFlow models cannot be computed here, so they are refused; what came to the parser is taken down for tests.
#include "parser/tensorflow_parser.h"

#include "ge/translate.h"

namespace ge {

graphStatus aclgrphParseTensorFlow(const char *model_file, const std::map<AscendString, AscendString> &parser_params, Graph &) {
  simulator::GeNoteParse("aclgrphParseTensorFlow", model_file, ToGeOptions(parser_params));
  return simulator::GeFail("TensorFlow models are not simulated: export the model to ONNX");
}

}  // namespace ge
