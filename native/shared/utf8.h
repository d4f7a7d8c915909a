// UTF-8 that is cut to a length.
#pragma once

#include <cstddef>
#include <string>

namespace npu_console {

// The longest prefix of a UTF-8 string that has at most `limit` bytes and no torn character.
inline std::string Utf8Prefix(const std::string& text, std::size_t limit) {
  if (text.size() <= limit) return text;
  std::size_t end = limit;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

}  // namespace npu_console
