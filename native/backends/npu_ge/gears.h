// Gears: the shapes that a graph is compiled for, as GE's options ge.inputShape ("x:-1,3,224,224;y:-1,16") and ge.dynamicDims ("1,1;2,2;4,4") have them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace npu_console::npu_ge {

struct GearInput {
  std::string name;
  std::vector<std::int64_t> dims;  // -1: differs from gear to gear
};

class Gears {
 public:
  // @param inputs the model's, in its order: each has to be listed
  // @param is_batching where the first dimension of every input is the batch
  // @throws kit::Error INVALID_ARG, a sentence about what is wrong
  static Gears Parse(const std::string& input_shape, const std::string& dynamic_dims, const std::vector<std::string>& inputs, bool is_batching, std::size_t most);

  // The inputs' full shapes in the smallest gear that takes them: the same but for the batch, which may be larger. Nothing where there is none.
  std::optional<std::vector<std::vector<std::int64_t>>> Fit(const std::vector<std::vector<std::int64_t>>& shapes) const;
  // The largest batch for which there is a gear with these other dimensions; 0 where there is none.
  std::int64_t LargestBatch(const std::vector<std::vector<std::int64_t>>& shapes) const;

  // "1", "2" ... or "1,224,224" for each gear.
  std::vector<std::string> Texts() const;
  std::size_t size() const { return shapes_.size(); }

 private:
  bool Matches(const std::vector<std::vector<std::int64_t>>& gear, const std::vector<std::vector<std::int64_t>>& shapes) const;

  bool is_batching_ = false;
  std::vector<std::vector<std::int64_t>> values_;
  // Per gear and input, in the model's order.
  std::vector<std::vector<std::vector<std::int64_t>>> shapes_;
};

}  // namespace npu_console::npu_ge
