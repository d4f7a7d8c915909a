#pragma once

#include <cstddef>
#include <cstdint>

namespace npu_console {

// No number is longer, with the comma before it: sign, 21 digits, a fraction.
constexpr std::size_t kLongestJsonNumber = 32;

// Writes the elements of an FP32 or FP64 tensor, little-endian and at any alignment, as JSON numbers with commas between them: the shortest decimal of each as a
// double, with a fraction or an exponent, in the notation of triton-protocol.md section 2 (`1.0`, `-0.0`, `1e21`, `NaN`, `-Infinity`).
// `target` has room for `count` times kLongestJsonNumber characters. Returns how many were written.
template <class Float>
std::size_t WriteJsonNumbers(const std::uint8_t* elements, std::size_t count, char* target);

extern template std::size_t WriteJsonNumbers<float>(const std::uint8_t* elements, std::size_t count, char* target);
extern template std::size_t WriteJsonNumbers<double>(const std::uint8_t* elements, std::size_t count, char* target);

}  // namespace npu_console
