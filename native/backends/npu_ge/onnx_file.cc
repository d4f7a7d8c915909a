#include "onnx_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <string_view>

#include "common/error.h"

namespace npu_console::npu_ge {

namespace {

class NotOnnx : public std::exception {
 public:
  explicit NotOnnx(const char* why) : why_(why) {}
  const char* what() const noexcept override { return why_; }

 private:
  const char* why_;
};

// One record: a number, or bytes.
struct Field {
  std::uint32_t number = 0;
  std::uint64_t value = 0;
  std::string_view bytes;
};

class Records {
 public:
  explicit Records(std::string_view data) : left_(data) {}

  bool Next(Field& field) {
    if (left_.empty()) return false;
    const std::uint64_t key = Number();
    field = {static_cast<std::uint32_t>(key >> 3), 0, {}};
    switch (key & 7) {
      case 0: field.value = Number(); break;
      case 1: field.bytes = Take(8); break;
      case 2: field.bytes = Take(Number()); break;
      case 5: field.bytes = Take(4); break;
      default: throw NotOnnx("it holds a record of a kind that is not used there");
    }
    return true;
  }

 private:
  std::uint64_t Number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(Take(1)[0]);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    throw NotOnnx("it holds a number of more than 64 bits");
  }

  std::string_view Take(std::uint64_t count) {
    if (count > left_.size()) throw NotOnnx("it is cut off");
    const std::string_view taken = left_.substr(0, count);
    left_.remove_prefix(count);
    return taken;
  }

  std::string_view left_;
};

// Calls `use` for each record of that number.
template <class Use>
void Each(std::string_view data, std::uint32_t number, Use use) {
  Records records(data);
  for (Field field; records.Next(field);) {
    if (field.number == number) use(field);
  }
}

struct ElementType {
  int onnx;
  TRITONSERVER_DataType triton;
  std::int32_t ge;
};

constexpr ElementType kElementTypes[] = {
    {1, TRITONSERVER_TYPE_FP32, 0},   {2, TRITONSERVER_TYPE_UINT8, 4},   {3, TRITONSERVER_TYPE_INT8, 2},   {4, TRITONSERVER_TYPE_UINT16, 7},
    {5, TRITONSERVER_TYPE_INT16, 6},  {6, TRITONSERVER_TYPE_INT32, 3},   {7, TRITONSERVER_TYPE_INT64, 9},  {8, TRITONSERVER_TYPE_BYTES, 13},
    {9, TRITONSERVER_TYPE_BOOL, 12},  {10, TRITONSERVER_TYPE_FP16, 1},   {11, TRITONSERVER_TYPE_FP64, 11}, {12, TRITONSERVER_TYPE_UINT32, 8},
    {13, TRITONSERVER_TYPE_UINT64, 10}, {16, TRITONSERVER_TYPE_BF16, 27},
};

Dimension ReadDimension(std::string_view data) {
  Dimension dimension;
  Each(data, 1, [&](const Field& field) { dimension.size = static_cast<std::int64_t>(field.value); });
  Each(data, 2, [&](const Field& field) { dimension.name = field.bytes; });
  if (dimension.size < 0) dimension.size = -1;
  return dimension;
}

TensorSignature ReadTensor(std::string_view data) {
  TensorSignature tensor;
  Each(data, 1, [&](const Field& name) { tensor.name = name.bytes; });
  Each(data, 2, [&](const Field& type) {
    Each(type.bytes, 1, [&](const Field& tensor_type) {
      Each(tensor_type.bytes, 1, [&](const Field& element) { tensor.element_type = static_cast<int>(element.value); });
      Each(tensor_type.bytes, 2, [&](const Field& shape) {
        tensor.has_shape = true;
        Each(shape.bytes, 1, [&](const Field& dimension) { tensor.dims.push_back(ReadDimension(dimension.bytes)); });
      });
    });
  });
  for (const ElementType& type : kElementTypes) {
    if (type.onnx == tensor.element_type) tensor.datatype = type.triton;
  }
  return tensor;
}

ModelSignature ReadModel(std::string_view data) {
  ModelSignature signature;
  bool has_graph = false;
  Each(data, 7, [&](const Field& graph) {
    has_graph = true;
    std::set<std::string> weights;
    Each(graph.bytes, 5, [&](const Field& weight) { Each(weight.bytes, 8, [&](const Field& name) { weights.emplace(name.bytes); }); });
    Each(graph.bytes, 11, [&](const Field& input) {
      TensorSignature tensor = ReadTensor(input.bytes);
      // Old exporters list the weights among the inputs.
      if (!weights.contains(tensor.name)) signature.inputs.push_back(std::move(tensor));
    });
    Each(graph.bytes, 12, [&](const Field& output) { signature.outputs.push_back(ReadTensor(output.bytes)); });
  });
  if (!has_graph) throw NotOnnx("it has no graph");
  return signature;
}

// A file's bytes, read when they are looked at.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat facts {};
    if (file < 0 || fstat(file, &facts) != 0) {
      const int reason = errno;
      if (file >= 0) close(file);
      throw kit::Unavailable("The model file " + path.string() + " cannot be read: " + std::strerror(reason));
    }
    size_ = static_cast<std::size_t>(facts.st_size);
    if (size_ > 0) data_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (data_ == MAP_FAILED) throw kit::Unavailable("The model file " + path.string() + " cannot be read: " + std::strerror(errno));
  }
  ~MappedFile() {
    if (data_ != nullptr) munmap(data_, size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace

std::vector<std::int64_t> TensorSignature::shape() const {
  std::vector<std::int64_t> sizes;
  for (const Dimension& dimension : dims) sizes.push_back(dimension.size);
  return sizes;
}

ModelSignature ReadOnnxFile(const std::filesystem::path& path) {
  const MappedFile file(path);
  try {
    if (file.bytes().empty()) throw NotOnnx("it is empty");
    return ReadModel(file.bytes());
  } catch (const NotOnnx& problem) {
    throw kit::InvalidArgument("The file " + path.string() + " is not an ONNX model: " + problem.what());
  }
}

std::int32_t GeTypeOf(TRITONSERVER_DataType datatype) {
  for (const ElementType& type : kElementTypes) {
    if (type.triton == datatype && datatype != TRITONSERVER_TYPE_BYTES) return type.ge;
  }
  throw kit::Unsupported(std::string("A card takes no tensors of type ") + TRITONSERVER_DataTypeString(datatype) +
                         ": do the part of the model that uses them outside of it, for instance in a model of the python backend");
}

}  // namespace npu_console::npu_ge
