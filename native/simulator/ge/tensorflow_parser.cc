// The simulated libfmk_parser.so. TensorFlow models cannot be computed here, so they are refused.
#include "parser/tensorflow_parser.h"

#include "core/ge_engine.h"

namespace ge {

graphStatus aclgrphParseTensorFlow(const char *, const std::map<AscendString, AscendString> &, Graph &) {
  return simulator::GeFail("TensorFlow models are not simulated: export the model to ONNX");
}

}  // namespace ge
