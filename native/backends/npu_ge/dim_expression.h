// Sizes of output dimensions, worked out from those of the inputs. An ONNX file names an open dimension; for an output the name may be arithmetic of the names
// of input dimensions: "batch", "height/2", "(seq + 1)*heads". Whole numbers, + - * / and parentheses; division rounds down, as shapes do.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace npu_console::npu_ge {

using DimensionSizes = std::map<std::string, std::int64_t>;

// Nothing where the text is no such arithmetic, uses a name that is not known, divides by 0 or gives a negative number.
std::optional<std::int64_t> EvaluateDimension(const std::string& expression, const DimensionSizes& known);

}  // namespace npu_console::npu_ge
