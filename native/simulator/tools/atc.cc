// The simulated `atc`: turns an ONNX file into a simulated .om file, with the options of the real command that a serving console needs.
#include <sys/stat.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include "core/om_file.h"

using namespace simulator;

namespace {

/** Options that are understood; the value says whether they change anything here. */
const std::map<std::string, bool> OPTIONS = {
    {"mode", true}, {"framework", true}, {"model", true}, {"output", true}, {"soc_version", true}, {"input_shape", true},
    {"dynamic_batch_size", true}, {"dynamic_image_size", true}, {"dynamic_dims", true}, {"input_format", true}, {"aicore_num", true},
    {"precision_mode", true}, {"precision_mode_v2", true}, {"om", true}, {"output_type", false}, {"out_nodes", false},
    {"external_weight", false}, {"log", false}, {"op_compiler_cache_dir", false}, {"op_compiler_cache_mode", false},
    {"host_env_os", false}, {"host_env_cpu", false}, {"raw_ge_options", false},
};

int Refuse(const std::string &code, const std::string &text) {
  std::printf("ATC run failed, please check the detail log, try again.\n%s: [simulated] %s\n", code.c_str(), text.c_str());
  return 1;
}

int Help() {
  std::printf("[simulated] atc --model=FILE.onnx --framework=5 --output=NAME --soc_version=SOC [options]\n"
              "Makes a simulated .om file that only simulated cards run. Options:\n");
  for (const auto &[name, isUsed] : OPTIONS) std::printf("  --%s%s\n", name.c_str(), isUsed ? "" : "   (accepted, changes nothing here)");
  return 0;
}

std::string Join(const std::vector<int64_t> &numbers) {
  std::string text;
  for (const int64_t number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

/** --mode=6: what an .om file is. */
int Show(const std::string &path) {
  std::string file;
  std::string error;
  OmProblem problem = OmProblem::None;
  if (!ReadWholeFile(path, file)) return Refuse("E10001", "the file cannot be read: " + path);
  const auto model = ReadOm(file.data(), file.size(), problem, error);
  if (model == nullptr) return Refuse("E10001", error);
  std::printf("[simulated] om info\nname: %s\nsoc_version: %s\ncores: %d|%d\nweight: %llu bytes\nwork: %llu bytes\n", model->name.c_str(), model->soc.c_str(),
              model->cubeCores, model->vectorCores, static_cast<unsigned long long>(model->WeightBytes()), static_cast<unsigned long long>(model->WorkBytes()));
  for (const TensorInfo &tensor : model->inputs) std::printf("input: %s [%s]\n", tensor.name.c_str(), Join(tensor.dims).c_str());
  for (const TensorInfo &tensor : model->outputs) std::printf("output: %s [%s]\n", tensor.name.c_str(), Join(tensor.dims).c_str());
  if (model->gearKind != GearKind::None) {
    for (const Variant &variant : model->variants) std::printf("gear: %s\n", Join(variant.gear).c_str());
  }
  return 0;
}

}  // namespace

int main(int argc, char **argv) {
  std::map<std::string, std::string> options;
  for (int index = 1; index < argc; index++) {
    std::string text = argv[index];
    if (text == "--help" || text == "-h") return Help();
    if (text.rfind("--", 0) != 0) return Refuse("E10001", "'" + text + "' is no option");
    const size_t equals = text.find('=');
    const std::string name = text.substr(2, equals == std::string::npos ? std::string::npos : equals - 2);
    if (OPTIONS.count(name) == 0) return Refuse("E10003", "unknown option --" + name + ": see atc --help");
    // A value may also follow as an argument of its own.
    if (equals != std::string::npos) {
      options[name] = text.substr(equals + 1);
    } else if (index + 1 < argc) {
      options[name] = argv[++index];
    } else {
      return Refuse("E10001", "--" + name + " has no value");
    }
  }
  if (options["mode"] == "6") return Show(options["om"]);
  if (!options["mode"].empty() && options["mode"] != "0") return Refuse("E10001", "--mode=" + options["mode"] + " is not simulated: use 0 or 6");
  if (options["framework"] != "5") return Refuse("E10007", "--framework=" + options["framework"] + " is not simulated: only ONNX, --framework=5");
  for (const char *needed : {"model", "output", "soc_version"}) {
    if (options[needed].empty()) return Refuse("E10004", std::string("--") + needed + " is missing");
  }
  if (!options["precision_mode"].empty() && !options["precision_mode_v2"].empty()) {
    return Refuse("E10001", "--precision_mode and --precision_mode_v2 exclude each other");
  }
  CompileRequest request;
  int kinds = 0;
  for (const auto &[name, kind] : {std::pair{"dynamic_batch_size", GearKind::Batch}, {"dynamic_image_size", GearKind::Image}, {"dynamic_dims", GearKind::Dims}}) {
    if (options[name].empty()) continue;
    kinds++;
    request.gearKind = kind;
    request.gears = options[name];
  }
  if (kinds > 1) return Refuse("E10009", "only one of --dynamic_batch_size, --dynamic_image_size and --dynamic_dims may be given");
  if (request.gearKind == GearKind::Dims && options["input_format"] != "ND") return Refuse("E10001", "--dynamic_dims needs --input_format=ND");
  std::string onnx;
  if (!ReadWholeFile(options["model"], onnx)) return Refuse("E10410", "the model file cannot be read: " + options["model"]);
  request.name = std::filesystem::path(options["output"]).filename().string();
  request.soc = options["soc_version"];
  request.inputShape = options["input_shape"];
  request.aicoreNum = options["aicore_num"];
  request.inputFormat = options["input_format"];
  if (!Settings::Instance().problem().empty()) return Refuse("E19999", Settings::Instance().problem());
  std::printf("ATC start working now, please wait for a moment. [simulated]\n");
  std::fflush(stdout);
  std::string error;
  const auto model = Compile(onnx, request, error);
  if (model == nullptr) return Refuse("E10001", error);
  std::this_thread::sleep_for(std::chrono::duration<double>(CompileSeconds(*model) * Settings::Instance().timeScale()));
  const std::string path = options["output"] + ".om";
  const std::string bytes = WriteOm(*model);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) return Refuse("E10001", "the file cannot be written: " + path);
  std::printf("ATC run success, welcome to the next use. [simulated]\n");
  return 0;
}
