#include "ascend/om_description.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <fstream>
#include <memory>
#include <set>

#include "ascend/acl_error.h"

namespace npu_console::ascend {

namespace {

constexpr size_t WHOLE_MODEL = static_cast<size_t>(-1);
/** A name that does not fit is replaced by one that begins so. */
constexpr const char* SHORTENED = "acl_modelId_";

struct Reader {
  const AclApi& api;
  aclmdlDesc* desc;

  std::string RealName(const char* name) const {
    if (std::strncmp(name, SHORTENED, std::strlen(SHORTENED)) != 0 || api.aclmdlGetTensorRealName == nullptr) return name;
    const char* real = api.aclmdlGetTensorRealName(desc, name);
    return real == nullptr ? name : real;
  }

  static Dims ToDims(const aclmdlIODims& dims) { return {dims.dims, dims.dims + std::min<size_t>(dims.dimCount, ACL_MAX_DIM_CNT)}; }

  OmTensor Input(size_t index) const {
    auto dims = std::make_unique<aclmdlIODims>();
    Check(api, api.aclmdlGetInputDims(desc, index, dims.get()), "reading the shape of input " + std::to_string(index) + " of the model");
    return {RealName(api.aclmdlGetInputNameByIndex(desc, index)), api.aclmdlGetInputDataType(desc, index), api.aclmdlGetInputFormat(desc, index), ToDims(*dims),
            api.aclmdlGetInputSizeByIndex(desc, index)};
  }

  OmTensor Output(size_t index) const {
    auto dims = std::make_unique<aclmdlIODims>();
    Check(api, api.aclmdlGetOutputDims(desc, index, dims.get()), "reading the shape of output " + std::to_string(index) + " of the model");
    return {RealName(api.aclmdlGetOutputNameByIndex(desc, index)), api.aclmdlGetOutputDataType(desc, index), api.aclmdlGetOutputFormat(desc, index), ToDims(*dims),
            api.aclmdlGetOutputSizeByIndex(desc, index)};
  }

  Dims BatchGears() const {
    auto batches = std::make_unique<aclmdlBatch>();
    if (api.aclmdlGetDynamicBatch(desc, batches.get()) != ACL_SUCCESS) return {};
    return {batches->batch, batches->batch + std::min<size_t>(batches->batchCount, ACL_MAX_BATCH_NUM)};
  }

  std::vector<Dims> ImageGears() const {
    std::vector<Dims> gears;
    auto sizes = std::make_unique<aclmdlHW>();
    if (api.aclmdlGetDynamicHW(desc, WHOLE_MODEL, sizes.get()) != ACL_SUCCESS) return gears;
    for (size_t index = 0; index < std::min<size_t>(sizes->hwCount, ACL_MAX_HW_NUM); index++) {
      gears.push_back({static_cast<int64_t>(sizes->hw[index][0]), static_cast<int64_t>(sizes->hw[index][1])});
    }
    return gears;
  }

  std::vector<Dims> FreeGears() const {
    size_t count = 0;
    if (api.aclmdlGetInputDynamicGearCount(desc, WHOLE_MODEL, &count) != ACL_SUCCESS || count == 0) return {};
    std::vector<aclmdlIODims> entries(count);
    Check(api, api.aclmdlGetInputDynamicDims(desc, WHOLE_MODEL, entries.data(), count), "reading the gears of the model");
    std::vector<Dims> gears;
    for (const aclmdlIODims& entry : entries) gears.push_back(ToDims(entry));
    return gears;
  }
};

/** Open dimensions filled in order; the rest stays. */
Dims Filled(const Dims& dims, const Dims& values, size_t at_most) {
  Dims result = dims;
  size_t next = 0;
  for (int64_t& dim : result) {
    if (dim < 0 && next < at_most) dim = values[next++];
  }
  return result;
}

std::string Joined(const Dims& dims, const char* separator) {
  std::string text;
  for (const int64_t dim : dims) text += (text.empty() ? "" : separator) + std::to_string(dim);
  return text;
}

Gear MakeGear(const OmDescription& model, GearKind kind, const Dims& key) {
  Gear gear{key, {}, {}, ""};
  size_t taken = 0;
  for (const OmTensor& input : model.inputs) {
    if (kind != GearKind::Free) {
      gear.inputs.push_back(Filled(input.dims, key, key.size()));
      continue;
    }
    // Each entry has the dimensions of all inputs, one input after another.
    const size_t rank = std::min(input.dims.size(), key.size() - taken);
    const Dims dims(key.begin() + static_cast<std::ptrdiff_t>(taken), key.begin() + static_cast<std::ptrdiff_t>(taken + rank));
    taken += rank;
    if (dims != input.dims) gear.text += (gear.text.empty() ? "" : ";") + input.name + "=" + Joined(dims, ",");
    gear.inputs.push_back(dims);
  }
  if (kind == GearKind::Batch) gear.text = Joined(key, ",");
  if (kind == GearKind::Image) gear.text = Joined(key, "x");
  return gear;
}

bool IsOpen(const OmTensor& tensor) {
  return std::any_of(tensor.dims.begin(), tensor.dims.end(), [](int64_t dim) { return dim < 0; });
}

}  // namespace

const char* OmDescription::GraphKind() const {
  if (has_free_shapes()) return "dynamic";
  return gear_kind == GearKind::None ? "static" : "gears";
}

int64_t OmDescription::LargestBatch() const {
  int64_t largest = 0;
  for (const Gear& gear : gears) {
    if (gear.inputs.empty() || gear.inputs[0].empty()) return 0;
    const int64_t rows = gear.inputs[0][0];
    const auto has_rows = [&](const Dims& dims) { return !dims.empty() && dims[0] == rows; };
    if (!std::all_of(gear.inputs.begin(), gear.inputs.end(), has_rows)) return 0;
    largest = std::max(largest, rows);
  }
  // A row comes out for each that goes in.
  for (const OmTensor& output : outputs) {
    if (output.dims.empty() || (output.dims[0] >= 0 && output.dims[0] != largest)) return 0;
  }
  return largest;
}

OmDescription DescribeOm(const AclApi& api, aclmdlDesc* desc) {
  const Reader reader{api, desc};
  OmDescription model;
  size_t index = 0;
  if (api.aclmdlGetInputIndexByName(desc, ACL_DYNAMIC_TENSOR_NAME, &index) == ACL_SUCCESS) {
    model.gear_input = index;
    model.gear_input_bytes = api.aclmdlGetInputSizeByIndex(desc, index);
  } else if (api.aclGetRecentErrMsg != nullptr) {
    api.aclGetRecentErrMsg();  // having no gears is no error to tell of later
  }
  for (size_t at = 0; at < api.aclmdlGetNumInputs(desc); at++) {
    if (at != model.gear_input) model.inputs.push_back(reader.Input(at));
  }
  for (size_t at = 0; at < api.aclmdlGetNumOutputs(desc); at++) model.outputs.push_back(reader.Output(at));
  if (!model.gear_input.has_value()) {
    if (std::any_of(model.inputs.begin(), model.inputs.end(), IsOpen)) return model;
    Gear only;
    for (const OmTensor& input : model.inputs) only.inputs.push_back(input.dims);
    for (const OmTensor& output : model.outputs) only.outputs.push_back(output.dims);
    model.gears.push_back(std::move(only));
    return model;
  }
  std::vector<Dims> keys;
  for (const int64_t batch : reader.BatchGears()) keys.push_back({batch});
  model.gear_kind = GearKind::Batch;
  if (keys.empty()) {
    keys = reader.ImageGears();
    model.gear_kind = GearKind::Image;
  }
  if (keys.empty()) {
    keys = reader.FreeGears();
    model.gear_kind = GearKind::Free;
  }
  if (keys.empty()) {
    throw Error(ErrorKind::Unsupported, std::string("The model has the input ") + ACL_DYNAMIC_TENSOR_NAME +
                                            " but no gears of a known kind (batch, image size, dims): compile it again with one of atc's --dynamic_ options");
  }
  for (const Dims& key : keys) model.gears.push_back(MakeGear(model, model.gear_kind, key));
  return model;
}

OmDescription DescribeOmFile(const AclApi& api, const std::string& path) {
  if (api.aclmdlGetDescFromFile == nullptr) {
    throw Error(ErrorKind::Unsupported, "This CANN cannot describe an .om file without loading it (aclmdlGetDescFromFile is missing): update CANN");
  }
  const std::unique_ptr<aclmdlDesc, aclError (*)(aclmdlDesc*)> desc(api.aclmdlCreateDesc(), api.aclmdlDestroyDesc);
  Check(api, api.aclmdlGetDescFromFile(desc.get(), path.c_str()), "reading " + path);
  return DescribeOm(api, desc.get());
}

OmFileFacts ReadOmFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorKind::NotFound, "The model file cannot be read: " + path);
  // Which bytes tell the chip is not published; its name is found wherever it stands as text. Weights may be gigabytes: only the first and last part is read.
  constexpr uint64_t PART = uint64_t{8} << 20;
  file.seekg(0, std::ios::end);
  OmFileFacts facts;
  facts.bytes = static_cast<uint64_t>(file.tellg());
  std::string text(static_cast<size_t>(std::min(facts.bytes, PART)), '\0');
  file.seekg(0);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (facts.bytes > PART) {
    std::string end(static_cast<size_t>(std::min(facts.bytes - PART, PART)), '\0');
    file.seekg(-static_cast<std::streamoff>(end.size()), std::ios::end);
    file.read(end.data(), static_cast<std::streamsize>(end.size()));
    text += end;
  }
  facts.has_signature = text.compare(0, 4, "IMOD") == 0;
  std::set<std::string> chips;
  constexpr std::string_view PREFIX = "Ascend";
  for (size_t at = text.find(PREFIX); at != std::string::npos; at = text.find(PREFIX, at + 1)) {
    size_t end = at + PREFIX.size();
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_' || text[end] == '-')) end++;
    const std::string chip = text.substr(at, end - at);
    if (!ChipFamily(chip).empty()) chips.insert(chip);
  }
  facts.chips.assign(chips.begin(), chips.end());
  return facts;
}

OmFileFacts RequireOmFile(const std::string& path) {
  OmFileFacts facts = ReadOmFile(path);
  if (facts.has_signature) return facts;
  throw Error(ErrorKind::InvalidArgument, path + " is no .om file: it does not begin with IMOD. Compile the model with atc, and copy it in binary mode");
}

std::string ChipFamily(const std::string& chip) {
  constexpr std::string_view PREFIX = "Ascend";
  if (chip.rfind(PREFIX, 0) != 0) return "";
  const std::string name = chip.substr(PREFIX.size());
  const auto begins = [&](std::string_view start) { return name.rfind(start, 0) == 0; };
  if (begins("310P")) return "310P";
  if (begins("310B")) return "310B";
  if (name == "310") return "310";
  if (begins("910_93")) return "910_93";
  // "Ascend910B" alone is the old chip with 30 cores; 910B1 to 910B4 are the A2 series.
  if (begins("910B") && name.size() > 4) return "910B";
  if (name == "910" || name == "910A" || name == "910B" || begins("910Pro") || begins("910Premium")) return "910";
  if (begins("950")) return "950";
  return "";
}

const char* TritonTypeName(aclDataType type) {
  switch (type) {
    case ACL_FLOAT: return "FP32";
    case ACL_FLOAT16: return "FP16";
    case ACL_BF16: return "BF16";
    case ACL_DOUBLE: return "FP64";
    case ACL_INT8: return "INT8";
    case ACL_INT16: return "INT16";
    case ACL_INT32: return "INT32";
    case ACL_INT64: return "INT64";
    case ACL_UINT8: return "UINT8";
    case ACL_UINT16: return "UINT16";
    case ACL_UINT32: return "UINT32";
    case ACL_UINT64: return "UINT64";
    case ACL_BOOL: return "BOOL";
    default: return "";
  }
}

size_t ElementBytes(aclDataType type) {
  switch (type) {
    case ACL_INT8: case ACL_UINT8: case ACL_BOOL: return 1;
    case ACL_FLOAT16: case ACL_BF16: case ACL_INT16: case ACL_UINT16: return 2;
    case ACL_FLOAT: case ACL_INT32: case ACL_UINT32: return 4;
    case ACL_DOUBLE: case ACL_INT64: case ACL_UINT64: case ACL_COMPLEX64: return 8;
    case ACL_COMPLEX128: return 16;
    default: return 0;
  }
}

int64_t ElementCount(const Dims& dims) {
  // So that bytes can be counted too: no element is larger than 16.
  constexpr int64_t LARGEST = INT64_MAX / 16;
  if (std::any_of(dims.begin(), dims.end(), [](int64_t dim) { return dim < 0; })) return -1;
  int64_t count = 1;
  for (const int64_t dim : dims) {
    if (dim > 0 && count > LARGEST / dim) throw Error(ErrorKind::InvalidArgument, "shape " + DimsText(dims) + " has more elements than memory can hold");
    count *= dim;
  }
  return count;
}

std::string DimsText(const Dims& dims) { return "[" + Joined(dims, ",") + "]"; }

}  // namespace npu_console::ascend
