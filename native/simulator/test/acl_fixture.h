// What the tests of the simulated AscendCL begin with.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "test/check.h"
#include "test/fixture.h"

namespace acl_fixture {

inline bool Contains(const char *text, const char *part) { return text != nullptr && std::strstr(text, part) != nullptr; }

/** AscendCL over these cards, the first of them current. */
inline void Start(const std::vector<std::string> &profiles = {"910B3", "910B3"}) {
  fixture::UseCards(profiles);
  CHECK_EQ(aclInit(nullptr), ACL_SUCCESS);
  CHECK_EQ(aclrtSetDevice(0), ACL_SUCCESS);
}

}  // namespace acl_fixture
