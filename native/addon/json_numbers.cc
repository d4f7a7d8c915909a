#include "json_numbers.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>

namespace npu_console {

namespace {

// From here on with an exponent, as JavaScript has it: 1e21 and more, less than 1e-6.
constexpr int kMostWholeDigits = 21, kMostLeadingZeros = 5;

char* Put(char* at, std::string_view text) {
  std::memcpy(at, text.data(), text.size());
  return at + text.size();
}

char* PutZeros(char* at, int count) {
  std::memset(at, '0', static_cast<std::size_t>(count));
  return at + count;
}

char* Print(char* at, double value) {
  if (std::isnan(value)) return Put(at, "NaN");
  if (std::signbit(value)) *at++ = '-';
  if (std::isinf(value)) return Put(at, "Infinity");
  if (value == 0) return Put(at, "0.0");
  // d.ddde+dd: the digits are the shortest ones that mean this double.
  char shortest[kLongestJsonNumber];
  const char* const end = std::to_chars(shortest, shortest + sizeof(shortest), std::abs(value), std::chars_format::scientific).ptr;
  const char* const mark = static_cast<const char*>(std::memchr(shortest, 'e', static_cast<std::size_t>(end - shortest)));
  int exponent = 0;
  std::from_chars(mark + (mark[1] == '+' ? 2 : 1), end, exponent);
  char digits[kLongestJsonNumber];
  digits[0] = shortest[0];
  int count = 1;
  if (mark > shortest + 1) {
    const auto fraction = static_cast<std::size_t>(mark - shortest - 2);
    std::memcpy(digits + 1, shortest + 2, fraction);
    count += static_cast<int>(fraction);
  }
  const auto part = [&](int from, int to) { return std::string_view(digits + from, static_cast<std::size_t>(to - from)); };
  const int whole = exponent + 1;
  if (whole > 0 && whole <= kMostWholeDigits) {
    if (count <= whole) return Put(PutZeros(Put(at, part(0, count)), whole - count), ".0");
    return Put(Put(Put(at, part(0, whole)), "."), part(whole, count));
  }
  if (whole <= 0 && -whole <= kMostLeadingZeros) return Put(PutZeros(Put(at, "0."), -whole), part(0, count));
  at = Put(at, part(0, 1));
  if (count > 1) at = Put(Put(at, "."), part(1, count));
  *at++ = 'e';
  return std::to_chars(at, at + 5, exponent).ptr;
}

}  // namespace

template <class Float>
std::size_t WriteJsonNumbers(const std::uint8_t* elements, std::size_t count, char* target) {
  char* at = target;
  for (std::size_t index = 0; index < count; ++index) {
    Float element;
    std::memcpy(&element, elements + index * sizeof(Float), sizeof(Float));
    if (index > 0) *at++ = ',';
    at = Print(at, static_cast<double>(element));
  }
  return static_cast<std::size_t>(at - target);
}

template std::size_t WriteJsonNumbers<float>(const std::uint8_t* elements, std::size_t count, char* target);
template std::size_t WriteJsonNumbers<double>(const std::uint8_t* elements, std::size_t count, char* target);

}  // namespace npu_console
