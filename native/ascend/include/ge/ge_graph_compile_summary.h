// What a compiled graph is and needs.
#pragma once

#include <memory>
#include <vector>

#include "graph/tensor.h"

namespace ge {

class GE_API CompiledGraphSummary {
 public:
  class Builder;
  ~CompiledGraphSummary();
  CompiledGraphSummary(const CompiledGraphSummary &) = delete;
  CompiledGraphSummary &operator=(const CompiledGraphSummary &) = delete;

  bool IsStatic() const;
  Status GetConstMemorySize(size_t &size) const;
  Status GetFeatureMemorySize(size_t &size) const;
  Status GetFixedFeatureMemorySize(size_t &size) const;
  Status GetRefreshableFeatureMemorySize(size_t &size) const;
  Status GetFeatureMemoryBaseRefreshable(bool &v) const;
  Status GetStreamNum(size_t &num) const;
  Status GetEventNum(size_t &num) const;
  Status GetOutputShapes(std::vector<Shape> &shapes) const;
  Status GetOutputDtypes(std::vector<DataType> &dtypes) const;

 private:
  class SummaryData;
  CompiledGraphSummary() = default;
  std::shared_ptr<SummaryData> data_;
};

using CompiledGraphSummaryPtr = std::shared_ptr<CompiledGraphSummary>;

}  // namespace ge
