#include "job.h"

#include <exception>

namespace npu_console::npu_ge {

using ascend::ErrorKind;

Failure Failure::Current() {
  try {
    throw;
  } catch (const ascend::Error& error) {
    return Failure(error);
  } catch (const std::exception& exception) {
    return Failure(ascend::Error(ErrorKind::Internal, std::string("a run on the card ended with: ") + exception.what()));
  }
}

std::uint64_t ByteSize(std::int32_t ge_type, const std::vector<std::int64_t>& dims) {
  std::uint64_t size = 0;
  switch (ge_type) {
    case 2: case 4: case 12: size = 1; break;
    case 1: case 6: case 7: case 27: size = 2; break;
    case 0: case 3: case 8: size = 4; break;
    case 9: case 10: case 11: size = 8; break;
    default: throw ascend::Error(ErrorKind::Unsupported, "a tensor has type " + std::to_string(ge_type) + " of GE, which cannot be passed on");
  }
  for (const std::int64_t dim : dims) {
    if (dim < 0 || __builtin_mul_overflow(size, static_cast<std::uint64_t>(dim), &size)) {
      throw ascend::Error(ErrorKind::InvalidArgument, "a tensor has a size that no memory holds");
    }
  }
  return size;
}

}  // namespace npu_console::npu_ge
