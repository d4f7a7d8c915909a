#include "values.h"

#include <chrono>
#include <cstdio>
#include <new>

#include "batch_memory.h"

namespace npu_console::triton {

TRITONSERVER_Error* MakeError(TRITONSERVER_Error_Code code, std::string message) { return new TRITONSERVER_Error{code, std::move(message)}; }

TRITONSERVER_Error* InvalidArgument(std::string message) { return MakeError(TRITONSERVER_ERROR_INVALID_ARG, std::move(message)); }

TRITONSERVER_Error* OutOfBounds(std::uint32_t index, const std::string& owner, std::size_t count, const char* what, const std::string& prefix) {
  return InvalidArgument(prefix + "out of bounds index " + std::to_string(index) + ": " + owner + " " + std::to_string(count) + " " + what);
}

TRITONSERVER_Error* NullArgument(const char* function, const char* argument) { return InvalidArgument(std::string(function) + ": " + argument + " is NULL"); }

TRITONSERVER_Error* Unsupported(const char* function) {
  return MakeError(TRITONSERVER_ERROR_UNSUPPORTED, std::string(function) + " is not supported by this server");
}

const char* ErrorCodeName(TRITONSERVER_Error_Code code) {
  switch (code) {
    case TRITONSERVER_ERROR_UNKNOWN:
      return "Unknown";
    case TRITONSERVER_ERROR_INTERNAL:
      return "Internal";
    case TRITONSERVER_ERROR_NOT_FOUND:
      return "Not found";
    case TRITONSERVER_ERROR_INVALID_ARG:
      return "Invalid argument";
    case TRITONSERVER_ERROR_UNAVAILABLE:
      return "Unavailable";
    case TRITONSERVER_ERROR_UNSUPPORTED:
      return "Unsupported";
    case TRITONSERVER_ERROR_ALREADY_EXISTS:
      return "Already exists";
    case TRITONSERVER_ERROR_CANCELLED:
      return "Cancelled";
  }
  return "<invalid code>";
}

Parameter ToParameter(const TritonHostParameter& parameter) {
  Parameter result;
  result.name = parameter.name;
  result.type = parameter.type;
  if (parameter.bytes != nullptr) result.bytes.assign(parameter.bytes, parameter.byte_size);
  result.integer = parameter.integer;
  result.boolean = parameter.boolean;
  result.real = parameter.real;
  return result;
}

Memory AllocateMemory(std::uint64_t byte_size) {
  if (byte_size > UINT64_MAX - kMemoryAlignment) throw std::bad_alloc();
  void* memory = std::aligned_alloc(kMemoryAlignment, (byte_size + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment);
  if (memory == nullptr && byte_size > 0) throw std::bad_alloc();
  return Memory(memory);
}

TRITONSERVER_Error* OwnedTensor::Allocate(
    const char* kind, BatchMemory* batch, std::uint64_t byte_size, void** buffer, TRITONSERVER_MemoryType* memory_type, std::int64_t* memory_type_id) {
  if (is_allocated) {
    return MakeError(TRITONSERVER_ERROR_ALREADY_EXISTS, std::string("allocated buffer for ") + kind + " '" + name + "' already exists");
  }
  if (byte_size > 0) {
    try {
      if (batch != nullptr) memory = batch->Take(name, byte_size);
      if (memory == nullptr) memory = AllocateMemory(byte_size);
    } catch (const std::bad_alloc&) {
      return MakeError(
          TRITONSERVER_ERROR_UNAVAILABLE, std::string("CPU memory allocation failed: ") + kind + " '" + name + "' needs " + std::to_string(byte_size) + " bytes");
    }
  }
  is_allocated = true;
  attributes.byte_size = byte_size;
  *buffer = memory.get();
  *memory_type = TRITONSERVER_MEMORY_CPU;
  *memory_type_id = 0;
  return nullptr;
}

std::uint64_t NowNanoseconds() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

namespace {

constexpr int kDeepestNesting = 512;

class JsonChecker {
 public:
  explicit JsonChecker(std::string_view text) : text_(text) {}

  bool IsOneValue() {
    if (!Value(0)) return false;
    Space();
    return at_ == text_.size();
  }

 private:
  bool Value(int depth) {
    if (depth > kDeepestNesting) return false;
    Space();
    if (at_ == text_.size()) return false;
    switch (text_[at_]) {
      case '{':
        return Members('}', depth, true);
      case '[':
        return Members(']', depth, false);
      case '"':
        return String();
      case 't':
        return Word("true");
      case 'f':
        return Word("false");
      case 'n':
        return Word("null");
      default:
        return Number();
    }
  }

  bool Members(char close, int depth, bool has_keys) {
    ++at_;
    Space();
    if (Take(close)) return true;
    for (;;) {
      if (has_keys) {
        Space();
        if (at_ == text_.size() || text_[at_] != '"' || !String()) return false;
        Space();
        if (!Take(':')) return false;
      }
      if (!Value(depth + 1)) return false;
      Space();
      if (Take(close)) return true;
      if (!Take(',')) return false;
    }
  }

  bool String() {
    for (++at_; at_ < text_.size(); ++at_) {
      const auto byte = static_cast<unsigned char>(text_[at_]);
      if (byte == '"') {
        ++at_;
        return true;
      }
      if (byte < 0x20) return false;
      if (byte != '\\') continue;
      if (++at_ == text_.size()) return false;
      if (text_[at_] == 'u') {
        for (int digit = 0; digit < 4; ++digit) {
          if (++at_ == text_.size() || !std::isxdigit(static_cast<unsigned char>(text_[at_]))) return false;
        }
      } else if (std::string_view("\"\\/bfnrt").find(text_[at_]) == std::string_view::npos) {
        return false;
      }
    }
    return false;
  }

  bool Number() {
    Take('-');
    if (!Take('0') && !Digits()) return false;
    if (Take('.') && !Digits()) return false;
    if (Take('e') || Take('E')) {
      if (!Take('+')) Take('-');
      return Digits();
    }
    return true;
  }

  bool Digits() {
    const std::size_t start = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    return at_ > start;
  }

  bool Word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  bool Take(char wanted) {
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  void Space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

bool IsJson(std::string_view text) { return JsonChecker(text).IsOneValue(); }

std::string JsonString(std::string_view text) {
  std::string result = "\"";
  for (const char byte : text) {
    if (byte == '"' || byte == '\\') {
      result += '\\';
      result += byte;
    } else if (static_cast<unsigned char>(byte) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(byte));
      result += escape;
    } else {
      result += byte;
    }
  }
  return result + '"';
}

}  // namespace npu_console::triton
