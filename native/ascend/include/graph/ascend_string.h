// ge::AscendString, the string of GE's stable interface, declared in our own words. Code that uses GE is compiled with the old libstdc++
// string ABI, as CANN's libraries are.
#pragma once

#if !defined(_GLIBCXX_USE_CXX11_ABI) || _GLIBCXX_USE_CXX11_ABI != 0
#error "GE's C++ interface has the old string ABI: compile with -D_GLIBCXX_USE_CXX11_ABI=0"
#endif

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#define GE_API __attribute__((visibility("default")))

namespace ge {

using Status = uint32_t;
using graphStatus = uint32_t;
using char_t = char;

constexpr Status SUCCESS = 0;
constexpr Status FAILED = 0xFFFFFFFF;
constexpr graphStatus GRAPH_SUCCESS = 0;
constexpr graphStatus GRAPH_FAILED = 0xFFFFFFFF;
constexpr graphStatus GRAPH_PARAM_INVALID = 50331649;

class GE_API AscendString {
 public:
  AscendString() = default;
  AscendString(const char *name);
  AscendString(const char *name, size_t length);

  const char *GetString() const;
  size_t GetLength() const;
  size_t Hash() const;

  bool operator<(const AscendString &other) const;
  bool operator>(const AscendString &other) const;
  bool operator<=(const AscendString &other) const;
  bool operator>=(const AscendString &other) const;
  bool operator==(const AscendString &other) const;
  bool operator!=(const AscendString &other) const;

 private:
  std::shared_ptr<std::string> name_;
};

}  // namespace ge
