// ge::Shape, ge::TensorDesc and ge::Tensor: what the older Run calls of a session take.
#pragma once

#include <functional>
#include <vector>

#include "graph/ascend_string.h"
#include "graph/types.h"

namespace ge {

class ShapeImpl;
class TensorDescImpl;
class TensorImpl;

class GE_API Shape {
 public:
  Shape();
  explicit Shape(const std::vector<int64_t> &dims);
  size_t GetDimNum() const;
  int64_t GetDim(size_t index) const;
  graphStatus SetDim(size_t index, int64_t value);
  std::vector<int64_t> GetDims() const;
  int64_t GetShapeSize() const;

 private:
  std::shared_ptr<ShapeImpl> impl_;
};

class GE_API TensorDesc {
 public:
  TensorDesc();
  explicit TensorDesc(Shape shape, Format format = FORMAT_ND, DataType dt = DT_FLOAT);
  Shape GetShape() const;
  void SetShape(const Shape &shape);
  Format GetFormat() const;
  void SetFormat(Format format);
  DataType GetDataType() const;
  void SetDataType(DataType dt);
  Placement GetPlacement() const;
  void SetPlacement(Placement placement);

 private:
  std::shared_ptr<TensorDescImpl> impl_;
};

class GE_API Tensor {
 public:
  using DeleteFunc = std::function<void(uint8_t *)>;

  Tensor();
  explicit Tensor(const TensorDesc &desc);
  Tensor(const TensorDesc &desc, const uint8_t *data, size_t size);
  TensorDesc GetTensorDesc() const;
  graphStatus SetTensorDesc(const TensorDesc &desc);
  /** Copies. */
  graphStatus SetData(const uint8_t *data, size_t size);
  /** Takes the memory over; `deleter` frees it with the last copy of the tensor. */
  graphStatus SetData(uint8_t *data, size_t size, const DeleteFunc &deleter);
  const uint8_t *GetData() const;
  uint8_t *GetData();
  size_t GetSize() const;
  Tensor Clone() const;

 private:
  std::shared_ptr<TensorImpl> impl_;
};

}  // namespace ge
