// A small test frame: TEST(name) { CHECK(...); }. Each test runs in a process of its own (the argument is its name), because the simulated
// libraries read their settings once per process.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

namespace check {

inline std::map<std::string, void (*)()> &Tests() {
  static std::map<std::string, void (*)()> tests;
  return tests;
}

struct Registration {
  Registration(const char *name, void (*test)()) { Tests().emplace(name, test); }
};

inline int &Failures() {
  static int failures = 0;
  return failures;
}

inline void Failed(const char *file, int line, const std::string &text) {
  std::cerr << file << ":" << line << ": " << text << "\n";
  Failures()++;
}

template <typename A, typename B>
void Equal(const A &actual, const B &expected, const char *text, const char *file, int line) {
  if (actual == expected) return;
  std::ostringstream message;
  message << text << ": got " << actual << ", expected " << expected;
  Failed(file, line, message.str());
}

}  // namespace check

#define TEST(name)                                              \
  static void name();                                           \
  static const check::Registration registration_##name(#name, name); \
  static void name()
#define CHECK(condition) \
  do { if (!(condition)) check::Failed(__FILE__, __LINE__, #condition); } while (false)
#define CHECK_EQ(actual, expected) check::Equal((actual), (expected), #actual, __FILE__, __LINE__)
/** For what the rest of a test cannot do without. */
#define REQUIRE(condition) \
  do { if (!(condition)) { check::Failed(__FILE__, __LINE__, #condition); return; } } while (false)
