// The same main with the old string ABI: the tests register themselves by std::string.
#include "test/main.cc"
