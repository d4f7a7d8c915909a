// libtriton_npu_ge.so through the host: what its tests share. Each group of tests is a process of its own.
#pragma once

#include <string>

#include "npu_server.h"
#include "test/fixture.h"

namespace ge {

using namespace npu;

// @param rest members of the config, without a comma at either end
// @param groups entries of instance_group
inline std::string Config(const std::string& rest = "", const std::string& parameters = "", const std::string& groups = R"({"count":1,"kind":"KIND_CPU"})") {
  return R"({"name":"m",)" + rest + (rest.empty() ? "" : ",") + R"("instance_group":[)" + groups + R"(],"parameters":{)" + parameters + "}}";
}

// Of fixture::LinearModel(-1).
const std::string LINEAR_IO = R"("input":[{"name":"x","data_type":"TYPE_FP32","dims":["4"]}],"output":[{"name":"y","data_type":"TYPE_FP32","dims":["3"]}])";
const std::string LINEAR_BATCHES = R"("max_batch_size":4,)" + LINEAR_IO;
// Parameters that make gears of its batch.
const std::string LINEAR_GEARS = Parameter("graph.ge.inputShape", "x:-1,4") + "," + Parameter("graph.ge.dynamicDims", "1;2;4");

// Where GE may write.
inline std::string WorkDirectory() { return fixture::Directory() + "/work"; }

class Server : public NpuServer {
 public:
  // @param settings further settings of the command line, each with a comma before it
  explicit Server(const std::string& settings = "", const std::string& work_directory = WorkDirectory())
      : NpuServer("npu_ge", "model.onnx", R"(,"work-directory":")" + work_directory + "\"" + settings) {}
};

}  // namespace ge
