// Runs the test named by the argument.
#include "test/check.h"

int main(int argc, char **argv) {
  const auto found = argc == 2 ? check::Tests().find(argv[1]) : check::Tests().end();
  if (found == check::Tests().end()) {
    std::cerr << "usage: " << argv[0] << " NAME, one of:\n";
    for (const auto &[name, test] : check::Tests()) std::cerr << "  " << name << "\n";
    return 2;
  }
  found->second();
  return check::Failures() == 0 ? 0 : 1;
}
