#include <cstdio>
#include <cstring>
#include <set>

#include "check.h"

int main(int argument_count, char** arguments) {
  std::set<std::string> wanted(arguments + 1, arguments + argument_count);
  int ran = 0, failed = 0;
  for (const check::Test& test : check::Tests()) {
    if (!wanted.empty() && !wanted.contains(test.group)) continue;
    ++ran;
    try {
      test.body();
      std::printf("ok   %s %s\n", test.group.c_str(), test.name.c_str());
    } catch (const std::exception& exception) {
      ++failed;
      std::printf("FAIL %s %s\n%s\n", test.group.c_str(), test.name.c_str(), exception.what());
    }
    std::fflush(stdout);
  }
  std::printf("%d ran, %d failed\n", ran, failed);
  return ran > 0 && failed == 0 ? 0 : 1;
}
