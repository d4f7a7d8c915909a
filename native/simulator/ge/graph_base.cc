// The simulated libgraph_base.so: strings, shapes and tensors.
#include <cstring>
#include <functional>

#include "graph/ascend_string.h"
#include "graph/tensor.h"

namespace ge {

AscendString::AscendString(const char *name) : name_(name == nullptr ? nullptr : std::make_shared<std::string>(name)) {}
AscendString::AscendString(const char *name, size_t length) : name_(name == nullptr ? nullptr : std::make_shared<std::string>(name, length)) {}
const char *AscendString::GetString() const { return name_ == nullptr ? "" : name_->c_str(); }
size_t AscendString::GetLength() const { return name_ == nullptr ? 0 : name_->size(); }
size_t AscendString::Hash() const { return std::hash<std::string>()(name_ == nullptr ? std::string() : *name_); }

static int Compare(const AscendString &one, const AscendString &other) {
  const size_t length = one.GetLength() < other.GetLength() ? one.GetLength() : other.GetLength();
  const int order = std::memcmp(one.GetString(), other.GetString(), length);
  if (order != 0 || one.GetLength() == other.GetLength()) return order;
  return one.GetLength() < other.GetLength() ? -1 : 1;
}

bool AscendString::operator<(const AscendString &other) const { return Compare(*this, other) < 0; }
bool AscendString::operator>(const AscendString &other) const { return Compare(*this, other) > 0; }
bool AscendString::operator<=(const AscendString &other) const { return Compare(*this, other) <= 0; }
bool AscendString::operator>=(const AscendString &other) const { return Compare(*this, other) >= 0; }
bool AscendString::operator==(const AscendString &other) const { return Compare(*this, other) == 0; }
bool AscendString::operator!=(const AscendString &other) const { return Compare(*this, other) != 0; }

class ShapeImpl {
 public:
  std::vector<int64_t> dims;
};

Shape::Shape() : impl_(std::make_shared<ShapeImpl>()) {}
Shape::Shape(const std::vector<int64_t> &dims) : impl_(std::make_shared<ShapeImpl>(ShapeImpl{dims})) {}
size_t Shape::GetDimNum() const { return impl_->dims.size(); }
int64_t Shape::GetDim(size_t index) const { return index < impl_->dims.size() ? impl_->dims[index] : 0; }
std::vector<int64_t> Shape::GetDims() const { return impl_->dims; }

graphStatus Shape::SetDim(size_t index, int64_t value) {
  if (index >= impl_->dims.size()) return GRAPH_PARAM_INVALID;
  // A copy shares its inside until one of them changes.
  impl_ = std::make_shared<ShapeImpl>(*impl_);
  impl_->dims[index] = value;
  return GRAPH_SUCCESS;
}

int64_t Shape::GetShapeSize() const {
  int64_t size = 1;
  for (const int64_t dim : impl_->dims) size = dim < 0 ? -1 : size * dim;
  return size;
}

class TensorDescImpl {
 public:
  Shape shape;
  Format format = FORMAT_ND;
  DataType type = DT_FLOAT;
  Placement placement = kPlacementHost;
};

TensorDesc::TensorDesc() : impl_(std::make_shared<TensorDescImpl>()) {}
TensorDesc::TensorDesc(Shape shape, Format format, DataType dt) : impl_(std::make_shared<TensorDescImpl>(TensorDescImpl{std::move(shape), format, dt, kPlacementHost})) {}
Shape TensorDesc::GetShape() const { return impl_->shape; }
Format TensorDesc::GetFormat() const { return impl_->format; }
DataType TensorDesc::GetDataType() const { return impl_->type; }
Placement TensorDesc::GetPlacement() const { return impl_->placement; }

void TensorDesc::SetShape(const Shape &shape) {
  impl_ = std::make_shared<TensorDescImpl>(*impl_);
  impl_->shape = shape;
}
void TensorDesc::SetFormat(Format format) {
  impl_ = std::make_shared<TensorDescImpl>(*impl_);
  impl_->format = format;
}
void TensorDesc::SetDataType(DataType dt) {
  impl_ = std::make_shared<TensorDescImpl>(*impl_);
  impl_->type = dt;
}
void TensorDesc::SetPlacement(Placement placement) {
  impl_ = std::make_shared<TensorDescImpl>(*impl_);
  impl_->placement = placement;
}

class TensorImpl {
 public:
  TensorDesc desc;
  std::shared_ptr<uint8_t> data;
  size_t size = 0;
};

Tensor::Tensor() : impl_(std::make_shared<TensorImpl>()) {}
Tensor::Tensor(const TensorDesc &desc) : Tensor() { impl_->desc = desc; }
Tensor::Tensor(const TensorDesc &desc, const uint8_t *data, size_t size) : Tensor(desc) { SetData(data, size); }
TensorDesc Tensor::GetTensorDesc() const { return impl_->desc; }

graphStatus Tensor::SetTensorDesc(const TensorDesc &desc) {
  impl_->desc = desc;
  return GRAPH_SUCCESS;
}

graphStatus Tensor::SetData(const uint8_t *data, size_t size) {
  if (data == nullptr && size > 0) return GRAPH_PARAM_INVALID;
  impl_->data = std::shared_ptr<uint8_t>(new uint8_t[size > 0 ? size : 1], std::default_delete<uint8_t[]>());
  if (size > 0) std::memcpy(impl_->data.get(), data, size);
  impl_->size = size;
  return GRAPH_SUCCESS;
}

graphStatus Tensor::SetData(uint8_t *data, size_t size, const DeleteFunc &deleter) {
  impl_->data = deleter ? std::shared_ptr<uint8_t>(data, deleter) : std::shared_ptr<uint8_t>(data, [](uint8_t *) {});
  impl_->size = size;
  return GRAPH_SUCCESS;
}

const uint8_t *Tensor::GetData() const { return impl_->data.get(); }
uint8_t *Tensor::GetData() { return impl_->data.get(); }
size_t Tensor::GetSize() const { return impl_->size; }

Tensor Tensor::Clone() const {
  Tensor copy(impl_->desc);
  if (impl_->data != nullptr) copy.SetData(static_cast<const uint8_t *>(impl_->data.get()), impl_->size);
  return copy;
}

}  // namespace ge
