#include "core/om_file.h"

#include <cstring>
#include <utility>

namespace simulator {

namespace {

constexpr size_t OM_HEADER_BYTES = 256;
constexpr char OM_MAGIC[] = "IMOD";
constexpr char OM_LABEL[] = "SIMULATED-OM";
constexpr uint32_t OM_VERSION = 1;

uint64_t Checksum(const char *data, size_t bytes) {
  uint64_t hash = 14695981039346656037u;
  for (size_t index = 0; index < bytes; index++) hash = (hash ^ static_cast<unsigned char>(data[index])) * 1099511628211u;
  return hash;
}

class FieldWriter {
 public:
  void Number(int64_t value) { text_.append(reinterpret_cast<const char *>(&value), sizeof value); }
  void Text(const std::string &value) {
    Number(static_cast<int64_t>(value.size()));
    text_ += value;
  }
  void Numbers(const std::vector<int64_t> &values) {
    Number(static_cast<int64_t>(values.size()));
    for (const int64_t value : values) Number(value);
  }
  void Tensors(const std::vector<TensorInfo> &tensors) {
    Number(static_cast<int64_t>(tensors.size()));
    for (const TensorInfo &tensor : tensors) {
      Text(tensor.name);
      Number(tensor.type);
      Numbers(tensor.dims);
    }
  }
  void Shapes(const std::vector<std::vector<int64_t>> &shapes) {
    Number(static_cast<int64_t>(shapes.size()));
    for (const auto &shape : shapes) Numbers(shape);
  }
  const std::string &text() const { return text_; }

 private:
  std::string text_;
};

/** Reads what FieldWriter wrote; after anything impossible all further reads give nothing and `isGood` is false. */
class FieldReader {
 public:
  FieldReader(const char *data, size_t bytes) : data_(data), bytes_(bytes) {}
  bool isGood() const { return isGood_; }

  int64_t Number() {
    int64_t value = 0;
    if (bytes_ - at_ < sizeof value) {
      isGood_ = false;
      at_ = bytes_;
      return 0;
    }
    std::memcpy(&value, data_ + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  size_t Count() {
    const int64_t count = Number();
    if (count < 0 || static_cast<uint64_t>(count) > bytes_ - at_) {
      isGood_ = false;
      return 0;
    }
    return static_cast<size_t>(count);
  }
  std::string Text() {
    const size_t size = Count();
    std::string value(data_ + at_, size);
    at_ += size;
    return value;
  }
  std::vector<int64_t> Numbers() {
    std::vector<int64_t> values;
    for (size_t left = Count(); left > 0 && isGood_; left--) values.push_back(Number());
    return values;
  }
  std::vector<TensorInfo> Tensors() {
    std::vector<TensorInfo> tensors;
    for (size_t left = Count(); left > 0 && isGood_; left--) {
      TensorInfo tensor;
      tensor.name = Text();
      tensor.type = static_cast<aclDataType>(Number());
      tensor.dims = Numbers();
      tensors.push_back(std::move(tensor));
    }
    return tensors;
  }
  std::vector<std::vector<int64_t>> Shapes() {
    std::vector<std::vector<int64_t>> shapes;
    for (size_t left = Count(); left > 0 && isGood_; left--) shapes.push_back(Numbers());
    return shapes;
  }

 private:
  const char *data_;
  size_t bytes_;
  size_t at_ = 0;
  bool isGood_ = true;
};

}  // namespace

std::string WriteOm(const CompiledModel &model) {
  FieldWriter fields;
  fields.Text(model.name);
  fields.Text(model.soc);
  fields.Number(static_cast<int64_t>(model.gearKind));
  fields.Number(model.cubeCores);
  fields.Number(model.vectorCores);
  fields.Tensors(model.inputs);
  fields.Tensors(model.outputs);
  fields.Number(static_cast<int64_t>(model.variants.size()));
  for (const Variant &variant : model.variants) {
    fields.Numbers(variant.gear);
    fields.Shapes(variant.inputs);
    fields.Shapes(variant.outputs);
  }
  fields.Text(model.onnx);
  const std::string &body = fields.text();
  std::string file(OM_HEADER_BYTES, '\0');
  const uint64_t size = body.size();
  const uint64_t sum = Checksum(body.data(), body.size());
  std::memcpy(&file[0], OM_MAGIC, 4);
  std::memcpy(&file[4], &OM_VERSION, 4);
  std::memcpy(&file[8], &size, 8);
  std::memcpy(&file[16], &sum, 8);
  std::memcpy(&file[32], OM_LABEL, sizeof OM_LABEL);
  return file + body;
}

std::shared_ptr<CompiledModel> ReadOm(const void *data, size_t bytes, OmProblem &problem, std::string &error) {
  const char *file = static_cast<const char *>(data);
  problem = OmProblem::NotOm;
  if (bytes < OM_HEADER_BYTES || std::memcmp(file, OM_MAGIC, 4) != 0) {
    error = "the model does not begin with the header of an .om file";
    return nullptr;
  }
  if (std::memcmp(file + 32, OM_LABEL, sizeof OM_LABEL) != 0) {
    error = "the .om file was made for a real chip: simulated cards run .om files of the simulated atc only";
    return nullptr;
  }
  uint64_t size = 0;
  uint64_t sum = 0;
  std::memcpy(&size, file + 8, 8);
  std::memcpy(&sum, file + 16, 8);
  if (size != bytes - OM_HEADER_BYTES) {
    problem = OmProblem::Truncated;
    error = "the .om file has " + std::to_string(bytes) + " bytes, its header says " + std::to_string(size + OM_HEADER_BYTES);
    return nullptr;
  }
  problem = OmProblem::Damaged;
  error = "the .om file is damaged";
  if (Checksum(file + OM_HEADER_BYTES, size) != sum) return nullptr;
  FieldReader fields(file + OM_HEADER_BYTES, size);
  auto model = std::make_shared<CompiledModel>();
  model->name = fields.Text();
  model->soc = fields.Text();
  model->gearKind = static_cast<GearKind>(fields.Number());
  model->cubeCores = static_cast<int>(fields.Number());
  model->vectorCores = static_cast<int>(fields.Number());
  model->inputs = fields.Tensors();
  model->outputs = fields.Tensors();
  for (size_t left = fields.Count(); left > 0 && fields.isGood(); left--) {
    Variant variant;
    variant.gear = fields.Numbers();
    variant.inputs = fields.Shapes();
    variant.outputs = fields.Shapes();
    if (variant.inputs.size() != model->inputs.size() || variant.outputs.size() != model->outputs.size()) return nullptr;
    model->variants.push_back(std::move(variant));
  }
  model->onnx = fields.Text();
  if (!fields.isGood()) return nullptr;
  problem = OmProblem::None;
  error.clear();
  return model;
}

}  // namespace simulator
