// A test framework of one page. `TEST(Group, name) { EXPECT(...); }`; the program runs the groups named on its command line, or all.
#pragma once

#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace check {

struct Test {
  std::string group, name;
  std::function<void()> body;
};

inline std::vector<Test>& Tests() {
  static std::vector<Test> tests;
  return tests;
}

struct Register {
  Register(const char* group, const char* name, std::function<void()> body) { Tests().push_back({group, name, std::move(body)}); }
};

template <class T>
std::string Shown(const T& value) {
  std::ostringstream text;
  if constexpr (requires { text << value; }) {
    text << value;
  } else {
    text << "[";
    for (const auto& part : value) text << " " << Shown(part);
    text << " ]";
  }
  return text.str();
}

inline void Fail(const char* file, int line, const std::string& what) { throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + what); }

template <class Left, class Right>
void Equal(const char* file, int line, const char* text, const Left& left, const Right& right) {
  if (!(left == right)) Fail(file, line, std::string(text) + "\n  got:      " + Shown(left) + "\n  expected: " + Shown(right));
}

inline void Contains(const char* file, int line, const std::string& text, const std::string& part) {
  if (text.find(part) == std::string::npos) Fail(file, line, "expected a part\n  got:      " + text + "\n  expected: ..." + part + "...");
}

#define TEST(group, name)                                                        \
  static void group##_##name();                                                  \
  static const check::Register register_##group##_##name(#group, #name, group##_##name); \
  static void group##_##name()
#define EXPECT(condition) \
  if (!(condition)) check::Fail(__FILE__, __LINE__, "not true: " #condition)
#define EXPECT_EQ(got, expected) check::Equal(__FILE__, __LINE__, #got, got, expected)
#define EXPECT_CONTAINS(text, part) check::Contains(__FILE__, __LINE__, text, part)

}  // namespace check
