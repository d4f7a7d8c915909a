// gert::Tensor, the tensor of GE's run calls: header-only, move-only, with a fixed layout (shape, format, version, element type, data).
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "graph/ascend_string.h"
#include "graph/types.h"

// Clang wants [[maybe_unused]] on fields that only keep the layout; gcc 11 says that it ignores it there.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes"

namespace gert {

using TensorAddress = void *;

enum TensorPlacement { kOnDeviceHbm = 0, kOnHost = 1, kFollowing = 2, kOnDeviceP2p = 3, kTensorPlacementEnd = 4 };

enum TensorOperateType { kGetTensorAddress = 0, kFreeTensor = 1, kPlusShareCount = 2, kTensorOperateTypeEnd = 3 };

using TensorAddrManager = ge::graphStatus (*)(TensorAddress addr, TensorOperateType operate_type, void **out);

/** At most 25 dimensions. */
class Shape {
 public:
  static constexpr size_t kMaxDimNum = 25;

  Shape() = default;
  Shape(const std::initializer_list<int64_t> &dims) {
    for (const int64_t dim : dims) AppendDim(dim);
  }
  size_t GetDimNum() const { return dim_num_; }
  void SetDimNum(size_t num) { dim_num_ = num; }
  int64_t GetDim(size_t index) const { return index < kMaxDimNum ? dims_[index] : INT64_MIN; }
  void SetDim(size_t index, int64_t value) {
    if (index < kMaxDimNum) dims_[index] = value;
  }
  Shape &AppendDim(int64_t value) {
    if (dim_num_ < kMaxDimNum) dims_[dim_num_++] = value;
    return *this;
  }
  int64_t GetShapeSize() const {
    int64_t size = 1;
    for (size_t index = 0; index < dim_num_; index++) size *= dims_[index];
    return size;
  }

 private:
  size_t dim_num_ = 0;
  int64_t dims_[kMaxDimNum] = {};
  [[maybe_unused]] uint8_t reserved_[40] = {};
};

/** The shape as the model names it and as it lies in memory: fill both. */
class StorageShape {
 public:
  StorageShape() = default;
  StorageShape(const Shape &origin, const Shape &storage) : origin_(origin), storage_(storage) {}
  const Shape &GetOriginShape() const { return origin_; }
  const Shape &GetStorageShape() const { return storage_; }
  Shape &MutableOriginShape() { return origin_; }
  Shape &MutableStorageShape() { return storage_; }

 private:
  Shape origin_;
  Shape storage_;
  [[maybe_unused]] uint8_t reserved_[40] = {};
};

class ExpandDimsType {
 public:
  ExpandDimsType() = default;

 private:
  [[maybe_unused]] uint64_t mask_ = 0;
};

class StorageFormat {
 public:
  StorageFormat() = default;
  StorageFormat(ge::Format origin, ge::Format storage, const ExpandDimsType &expand) : origin_(origin), storage_(storage), expand_(expand) {}
  ge::Format GetOriginFormat() const { return origin_; }
  ge::Format GetStorageFormat() const { return storage_; }
  void SetOriginFormat(ge::Format format) { origin_ = format; }
  void SetStorageFormat(ge::Format format) { storage_ = format; }

 private:
  ge::Format origin_ = ge::FORMAT_ND;
  ge::Format storage_ = ge::FORMAT_ND;
  ExpandDimsType expand_;
  [[maybe_unused]] uint8_t reserved_[40] = {};
};

/** An address and who frees it: without a manager nobody here does. */
class TensorData {
 public:
  explicit TensorData(TensorAddress addr = nullptr, TensorAddrManager manager = nullptr, size_t size = 0,
                      TensorPlacement placement = kTensorPlacementEnd)
      : addr_(addr), manager_(manager), size_(size), placement_(placement) {}
  TensorData(const TensorData &) = delete;
  TensorData &operator=(const TensorData &) = delete;
  TensorData(TensorData &&other) noexcept { Take(other); }
  TensorData &operator=(TensorData &&other) noexcept {
    if (this != &other) {
      Free();
      Take(other);
    }
    return *this;
  }
  ~TensorData() { Free(); }

  TensorAddress GetAddr() const {
    if (manager_ == nullptr || addr_ == nullptr) return addr_;
    void *address = nullptr;
    return manager_(addr_, kGetTensorAddress, &address) == ge::GRAPH_SUCCESS ? address : nullptr;
  }
  size_t GetSize() const { return size_; }
  void SetSize(size_t size) { size_ = size; }
  TensorPlacement GetPlacement() const { return placement_; }
  void SetPlacement(TensorPlacement placement) { placement_ = placement; }
  ge::graphStatus Free() {
    if (manager_ != nullptr && addr_ != nullptr && manager_(addr_, kFreeTensor, nullptr) != ge::GRAPH_SUCCESS) return ge::GRAPH_FAILED;
    addr_ = nullptr;
    manager_ = nullptr;
    return ge::GRAPH_SUCCESS;
  }

 private:
  void Take(TensorData &other) noexcept {
    addr_ = std::exchange(other.addr_, nullptr);
    manager_ = std::exchange(other.manager_, nullptr);
    size_ = other.size_;
    placement_ = other.placement_;
  }

  TensorAddress addr_ = nullptr;
  TensorAddrManager manager_ = nullptr;
  size_t size_ = 0;
  TensorPlacement placement_ = kTensorPlacementEnd;
};

class Tensor {
 public:
  Tensor() = default;
  Tensor(const StorageShape &shape, const StorageFormat &format, TensorPlacement placement, ge::DataType data_type, TensorAddress addr)
      : shape_(shape), format_(format), data_type_(data_type), data_(addr, nullptr, SizeOf(shape, data_type), placement) {}
  Tensor(const StorageShape &shape, const StorageFormat &format, ge::DataType data_type)
      : shape_(shape), format_(format), data_type_(data_type) {}

  const Shape &GetStorageShape() const { return shape_.GetStorageShape(); }
  const Shape &GetOriginShape() const { return shape_.GetOriginShape(); }
  const StorageShape &GetShape() const { return shape_; }
  StorageShape &GetShape() { return shape_; }
  Shape &MutableStorageShape() { return shape_.MutableStorageShape(); }
  Shape &MutableOriginShape() { return shape_.MutableOriginShape(); }
  StorageFormat &MutableFormat() { return format_; }
  const StorageFormat &GetFormat() const { return format_; }
  ge::DataType GetDataType() const { return data_type_; }
  void SetDataType(ge::DataType data_type) { data_type_ = data_type; }
  const void *GetAddr() const { return data_.GetAddr(); }
  void *GetAddr() { return data_.GetAddr(); }
  size_t GetSize() const { return data_.GetSize(); }
  void SetSize(size_t size) { data_.SetSize(size); }
  TensorPlacement GetPlacement() const { return data_.GetPlacement(); }
  void SetPlacement(TensorPlacement placement) { data_.SetPlacement(placement); }
  const TensorData &GetTensorData() const { return data_; }
  TensorData &MutableTensorData() { return data_; }
  void SetData(TensorData &&data) { data_ = std::move(data); }

 private:
  static size_t SizeOf(const StorageShape &shape, ge::DataType type) {
    const int64_t count = shape.GetStorageShape().GetShapeSize();
    return count < 0 ? 0 : static_cast<size_t>(count) * ElementSize(type);
  }
  static size_t ElementSize(ge::DataType type) {
    switch (type) {
      case ge::DT_INT8: case ge::DT_UINT8: case ge::DT_BOOL: return 1;
      case ge::DT_FLOAT16: case ge::DT_BF16: case ge::DT_INT16: case ge::DT_UINT16: return 2;
      case ge::DT_FLOAT: case ge::DT_INT32: case ge::DT_UINT32: return 4;
      case ge::DT_INT64: case ge::DT_UINT64: case ge::DT_DOUBLE: case ge::DT_COMPLEX64: return 8;
      default: return 0;
    }
  }

  StorageShape shape_;
  StorageFormat format_;
  [[maybe_unused]] uint8_t version_ = 0;
  [[maybe_unused]] uint8_t reserved_bytes_[3] = {};
  ge::DataType data_type_ = ge::DT_UNDEFINED;
  TensorData data_;
  [[maybe_unused]] uint8_t reserved_[40] = {};
};

}  // namespace gert

#pragma GCC diagnostic pop
