#include "core/compiled_model.h"

#include <algorithm>
#include <cstdlib>

namespace simulator {

namespace {

constexpr size_t MIN_GEARS = 2;
constexpr size_t MAX_GEARS = 100;
/** Time to start one run on the chip. */
constexpr double LAUNCH_MICROSECONDS = 40;

std::vector<std::string> Split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  size_t at = 0;
  while (at <= text.size()) {
    const size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

bool ParseNumbers(const std::string &text, std::vector<int64_t> &numbers) {
  for (const std::string &part : Split(text, ',')) {
    char *end = nullptr;
    const long long number = std::strtoll(part.c_str(), &end, 10);
    while (*end == ' ') end++;
    if (part.empty() || *end != 0 || end == part.c_str()) return false;
    numbers.push_back(number);
  }
  return true;
}

/** Lays "name:1,2;other:3" over the inputs of the ONNX file. */
bool ApplyInputShape(const std::string &text, std::vector<TensorInfo> &inputs, std::string &error) {
  if (text.empty()) return true;
  for (const std::string &entry : Split(text, ';')) {
    if (entry.empty()) continue;
    const size_t colon = entry.rfind(':');
    const std::string name = entry.substr(0, colon);
    const auto input = std::find_if(inputs.begin(), inputs.end(), [&](const TensorInfo &tensor) { return tensor.name == name; });
    if (colon == std::string::npos || input == inputs.end()) {
      error = "the input shape '" + entry + "' names no input of the model";
      return false;
    }
    std::vector<int64_t> dims;
    const std::string numbers = entry.substr(colon + 1);
    if (!numbers.empty() && !ParseNumbers(numbers, dims)) {
      error = "the input shape '" + entry + "' has something else than numbers";
      return false;
    }
    if (dims.size() != input->dims.size()) {
      error = "the input shape '" + entry + "' has " + std::to_string(dims.size()) + " dimensions, the model has " + std::to_string(input->dims.size());
      return false;
    }
    for (size_t index = 0; index < dims.size(); index++) {
      if (dims[index] < -1 || (input->dims[index] >= 0 && dims[index] != input->dims[index])) {
        error = "the input shape '" + entry + "' does not fit the model: dimension " + std::to_string(index) + " is " + std::to_string(input->dims[index]);
        return false;
      }
    }
    input->dims = dims;
  }
  return true;
}

size_t OpenDimensions(const std::vector<TensorInfo> &inputs) {
  size_t open = 0;
  for (const TensorInfo &input : inputs) open += static_cast<size_t>(std::count(input.dims.begin(), input.dims.end(), -1));
  return open;
}

/** Puts one gear into the open dimensions. */
bool FillGear(GearKind kind, const std::vector<TensorInfo> &inputs, Variant &variant, std::string &error) {
  size_t next = 0;
  for (const TensorInfo &input : inputs) {
    std::vector<int64_t> dims = input.dims;
    for (size_t index = 0; index < dims.size(); index++) {
      if (dims[index] != -1) continue;
      if (kind == GearKind::Batch) {
        if (index != 0) {
          error = "with batch gears only the first dimension may be -1, '" + input.name + "' has another";
          return false;
        }
        dims[index] = variant.gear[0];
      } else if (kind == GearKind::Image) {
        if (dims.size() != 4 || next >= variant.gear.size()) {
          error = "with image gears the height and width of one NCHW input are -1, '" + input.name + "' does not fit";
          return false;
        }
        dims[index] = variant.gear[next++];
      } else {
        dims[index] = variant.gear[next++];
      }
    }
    variant.inputs.push_back(std::move(dims));
  }
  if (kind != GearKind::Batch && next != variant.gear.size()) {
    error = "a gear has " + std::to_string(variant.gear.size()) + " numbers, the input shapes leave " + std::to_string(next) + " open";
    return false;
  }
  return true;
}

bool MakeVariants(const CompileRequest &request, CompiledModel &model, std::string &error) {
  const size_t open = OpenDimensions(model.inputs);
  if (request.gearKind == GearKind::None) {
    if (open > 0) return true;
    Variant only;
    for (const TensorInfo &input : model.inputs) only.inputs.push_back(input.dims);
    model.variants.push_back(std::move(only));
    return true;
  }
  if (open == 0) {
    error = "gears were given, but no dimension of the input shapes is -1";
    return false;
  }
  const std::vector<std::string> gears = Split(request.gears, request.gearKind == GearKind::Batch ? ',' : ';');
  if (gears.size() < MIN_GEARS || gears.size() > MAX_GEARS) {
    error = "the number of gears must be 2 to 100, here it is " + std::to_string(gears.size());
    return false;
  }
  if (request.gearKind == GearKind::Dims && !request.inputFormat.empty() && request.inputFormat != "ND") {
    error = "gears of free dimensions need the input format ND";
    return false;
  }
  for (const std::string &text : gears) {
    Variant variant;
    const size_t wanted = request.gearKind == GearKind::Batch ? 1 : request.gearKind == GearKind::Image ? 2 : open;
    if (!ParseNumbers(text, variant.gear) || std::any_of(variant.gear.begin(), variant.gear.end(), [](int64_t dim) { return dim <= 0; })) {
      error = "the gear '" + text + "' has something else than numbers above 0";
      return false;
    }
    if (variant.gear.size() != wanted) {
      error = "the gear '" + text + "' has " + std::to_string(variant.gear.size()) + " numbers, needed are " + std::to_string(wanted);
      return false;
    }
    for (const Variant &other : model.variants) {
      if (other.gear == variant.gear) {
        error = "the gear '" + text + "' is there twice";
        return false;
      }
    }
    if (!FillGear(request.gearKind, model.inputs, variant, error)) return false;
    model.variants.push_back(std::move(variant));
  }
  return true;
}

/** Runs each variant on zeros once, which tells the output shapes and whether it runs at all. */
bool LearnOutputs(const OnnxSession &session, CompiledModel &model, std::string &error) {
  for (Variant &variant : model.variants) {
    std::vector<std::vector<char>> zeros;
    std::vector<TensorView> inputs;
    for (size_t index = 0; index < model.inputs.size(); index++) {
      zeros.emplace_back(TensorBytes(model.inputs[index].type, variant.inputs[index]));
      inputs.push_back({zeros.back().data(), zeros.back().size(), variant.inputs[index]});
    }
    const bool ran = session.Run(inputs, [&](size_t, const TensorView &output, std::string &) {
      variant.outputs.push_back(output.dims);
      return true;
    }, error);
    if (!ran) return false;
  }
  // What the outputs have in common over all gears is fixed, the rest open.
  if (model.variants.empty()) return true;
  for (size_t output = 0; output < model.outputs.size(); output++) {
    model.outputs[output].dims = model.variants[0].outputs[output];
    for (const Variant &variant : model.variants) {
      for (size_t index = 0; index < model.outputs[output].dims.size(); index++) {
        if (index >= variant.outputs[output].size() || variant.outputs[output][index] != model.outputs[output].dims[index]) {
          model.outputs[output].dims[index] = -1;
        }
      }
    }
  }
  return true;
}

/** Work of one run in multiply-adds: a rough guess from weights and input sizes, enough to make bigger gears take longer. */
double EstimateMacs(const CompiledModel &model, const std::vector<std::vector<int64_t>> &inputs) {
  double rows = 1;
  double elements = 0;
  for (const auto &shape : inputs) {
    const int64_t count = std::max<int64_t>(1, ElementCount(shape));
    elements += static_cast<double>(count);
    if (shape.size() > 1 && shape[0] > 0) rows = std::max(rows, static_cast<double>(shape[0]));
  }
  const double reuse = std::clamp(elements / rows / 1024, 1.0, 256.0);
  return static_cast<double>(model.WeightBytes()) / 4 * rows * reuse + elements * 64;
}

}  // namespace

size_t CompiledModel::LargestVariant() const {
  size_t largest = 0;
  int64_t most = -1;
  for (size_t index = 0; index < variants.size(); index++) {
    int64_t total = 0;
    for (const auto &shape : variants[index].inputs) total += ElementCount(shape);
    if (total > most) {
      most = total;
      largest = index;
    }
  }
  return largest;
}

size_t CompiledModel::InputBytes(size_t index) const {
  size_t bytes = 0;
  for (const Variant &variant : variants) bytes = std::max(bytes, TensorBytes(inputs[index].type, variant.inputs[index]));
  return bytes;
}

size_t CompiledModel::OutputBytes(size_t index) const {
  size_t bytes = 0;
  for (const Variant &variant : variants) bytes = std::max(bytes, TensorBytes(outputs[index].type, variant.outputs[index]));
  return bytes;
}

uint64_t CompiledModel::WorkBytes() const {
  uint64_t bytes = 1 << 20;
  for (size_t index = 0; index < inputs.size(); index++) bytes += 2 * InputBytes(index);
  for (size_t index = 0; index < outputs.size(); index++) bytes += 2 * OutputBytes(index);
  return bytes;
}

bool ParseCores(const std::string &text, const Profile &profile, int &cube, int &vector, std::string &error) {
  cube = profile.cubeCores;
  vector = profile.vectorCores;
  if (text.empty()) return true;
  const size_t bar = text.find('|');
  char *end = nullptr;
  const std::string first = text.substr(0, bar);
  const std::string second = bar == std::string::npos ? "" : text.substr(bar + 1);
  const long cubeWanted = std::strtol(first.c_str(), &end, 10);
  bool isNumber = !first.empty() && *end == 0;
  long vectorWanted = vector;
  if (!second.empty()) {
    vectorWanted = std::strtol(second.c_str(), &end, 10);
    isNumber = isNumber && *end == 0;
  }
  if (!isNumber) {
    error = "the core number '" + text + "' is not of the form 12|10 or 8";
    return false;
  }
  // 310P and 910 have no separate vector cores to choose: that part is ignored there.
  const bool hasVectorPart = profile.npuArch >= 2201 && profile.vectorCores > 0;
  if (cubeWanted < 1 || cubeWanted > profile.cubeCores || (hasVectorPart && (vectorWanted < 1 || vectorWanted > profile.vectorCores))) {
    error = "the core number '" + text + "' is beyond " + profile.soc + ", which has " + std::to_string(profile.cubeCores) + "|" + std::to_string(profile.vectorCores);
    return false;
  }
  cube = static_cast<int>(cubeWanted);
  if (hasVectorPart) vector = static_cast<int>(vectorWanted);
  return true;
}

std::shared_ptr<CompiledModel> Compile(const std::string &onnx, const CompileRequest &request, std::string &error) {
  const Profile *profile = Settings::Instance().FindSoc(request.soc);
  if (profile == nullptr) {
    error = "the soc version '" + request.soc + "' is not known";
    return nullptr;
  }
  auto model = std::make_shared<CompiledModel>();
  model->name = request.name;
  model->soc = profile->soc;
  model->gearKind = request.gearKind;
  model->onnx = onnx;
  if (!ParseCores(request.aicoreNum, *profile, model->cubeCores, model->vectorCores, error)) return nullptr;
  const auto session = OnnxSession::Create(onnx.data(), onnx.size(), error);
  if (session == nullptr) return nullptr;
  model->inputs = session->inputs();
  model->outputs = session->outputs();
  if (!ApplyInputShape(request.inputShape, model->inputs, error) || !MakeVariants(request, *model, error) || !LearnOutputs(*session, *model, error)) {
    return nullptr;
  }
  return model;
}

double CompileSeconds(const CompiledModel &model) {
  return 2.0 + 0.6 * static_cast<double>(std::max<size_t>(1, model.variants.size())) + static_cast<double>(model.WeightBytes()) / 100e6;
}

double RunMicroseconds(const CompiledModel &model, const Profile &profile, const std::vector<std::vector<int64_t>> &inputs, int cubeCores) {
  double bytes = static_cast<double>(model.WeightBytes());
  for (const auto &shape : inputs) bytes += 4.0 * static_cast<double>(std::max<int64_t>(0, ElementCount(shape)));
  return LAUNCH_MICROSECONDS + EstimateMacs(model, inputs) / (profile.macsPerCoreMicrosecond * cubeCores) + bytes / profile.bytesPerMicrosecond;
}

}  // namespace simulator
