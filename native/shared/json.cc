#include "shared/json.h"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace npu_console {

class JsonParser {
 public:
  JsonParser(const std::string& text, int max_depth) : text_(text), max_depth_(max_depth) {}

  bool Document(Json& result, std::string& error) {
    const bool parsed = Value(result, 0);
    Space();
    if (parsed && at_ == text_.size()) return true;
    error = (problem_.empty() ? std::string("unexpected character") : problem_) + " at byte " + std::to_string(at_);
    return false;
  }

 private:
  void Space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) at_++;
  }

  bool Problem(const char* text) {
    if (problem_.empty()) problem_ = text;
    return false;
  }

  bool Take(char wanted) {
    Space();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    at_++;
    return true;
  }

  bool Word(std::string_view word) {
    if (text_.compare(at_, word.size(), word) != 0) return Problem("unknown word");
    at_ += word.size();
    return true;
  }

  bool Value(Json& value, int depth) {
    if (depth > max_depth_) return Problem("nested too deeply");
    Space();
    if (at_ >= text_.size()) return Problem("the text ends early");
    switch (text_[at_]) {
      case '{': return Object(value, depth);
      case '[': return Array(value, depth);
      case '"': value.kind_ = Json::Kind::String; return String(value.text_);
      case 't': value.kind_ = Json::Kind::Boolean; value.boolean_ = true; return Word("true");
      case 'f': value.kind_ = Json::Kind::Boolean; value.boolean_ = false; return Word("false");
      case 'n': value.kind_ = Json::Kind::Null; return Word("null");
      default: return Number(value);
    }
  }

  bool Number(Json& value) {
    std::size_t end = at_;
    while (end < text_.size() && std::string_view("+-.0123456789eE").find(text_[end]) != std::string_view::npos) end++;
    const char* const first = text_.data() + at_;
    const char* const last = text_.data() + end;
    double number = 0;
    const auto [read, result] = std::from_chars(first, last, number);
    if (read != last || first == last || result == std::errc::invalid_argument) return Problem("no value");
    value.kind_ = Json::Kind::Number;
    // Too large or too small for a double: as strtod has it, infinite or zero.
    value.number_ = result == std::errc() ? number : std::strtod(std::string(first, last).c_str(), nullptr);
    const auto [whole_end, whole_result] = std::from_chars(first, last, value.whole_);
    value.is_whole_ = whole_result == std::errc() && whole_end == last;
    at_ = end;
    return true;
  }

  bool String(std::string& text) {
    at_++;
    text.clear();
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] != '\\') {
        text += text_[at_++];
        continue;
      }
      at_++;
      if (at_ >= text_.size()) break;
      const char escape = text_[at_++];
      switch (escape) {
        case 'n': text += '\n'; break;
        case 't': text += '\t'; break;
        case 'r': text += '\r'; break;
        case 'b': text += '\b'; break;
        case 'f': text += '\f'; break;
        case 'u': if (!Unicode(text)) return false; break;
        default: text += escape;
      }
    }
    if (at_ >= text_.size()) return Problem("a string does not end");
    at_++;
    return true;
  }

  bool Digits(unsigned long& code) {
    if (at_ + 4 > text_.size()) return Problem("a \\u needs four digits");
    const char* const end = text_.data() + at_ + 4;
    if (std::from_chars(text_.data() + at_, end, code, 16).ptr != end) return Problem("a \\u needs four digits");
    at_ += 4;
    return true;
  }

  bool Unicode(std::string& text) {
    unsigned long code = 0;
    if (!Digits(code)) return false;
    if (code >= 0xD800 && code < 0xDC00 && text_.compare(at_, 2, "\\u") == 0) {
      at_ += 2;
      unsigned long low = 0;
      if (!Digits(low)) return false;
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    const auto tail = [&](int shift) { text += static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
    if (code < 0x80) {
      text += static_cast<char>(code);
    } else if (code < 0x800) {
      text += static_cast<char>(0xC0 | (code >> 6));
      tail(0);
    } else if (code < 0x10000) {
      text += static_cast<char>(0xE0 | (code >> 12));
      tail(6);
      tail(0);
    } else {
      text += static_cast<char>(0xF0 | (code >> 18));
      tail(12);
      tail(6);
      tail(0);
    }
    return true;
  }

  bool Array(Json& value, int depth) {
    value.kind_ = Json::Kind::Array;
    at_++;
    if (Take(']')) return true;
    do {
      value.items_.emplace_back();
      if (!Value(value.items_.back(), depth + 1)) return false;
    } while (Take(','));
    return Take(']') || Problem("an array does not end");
  }

  bool Object(Json& value, int depth) {
    value.kind_ = Json::Kind::Object;
    at_++;
    if (Take('}')) return true;
    do {
      Space();
      if (at_ >= text_.size() || text_[at_] != '"') return Problem("a member needs a name in quotes");
      std::string name;
      if (!String(name)) return false;
      if (!Take(':')) return Problem("a colon is missing");
      Json& member = value.members_[name];
      member = Json();
      if (!Value(member, depth + 1)) return false;
    } while (Take(','));
    return Take('}') || Problem("an object does not end");
  }

  const std::string& text_;
  const int max_depth_;
  std::size_t at_ = 0;
  std::string problem_;
};

bool Json::Parse(const std::string& text, Json& result, std::string& error, int max_depth) {
  result = Json();
  return JsonParser(text, max_depth).Document(result, error);
}

Json Json::Text(std::string text) {
  Json value;
  value.kind_ = Kind::String;
  value.text_ = std::move(text);
  return value;
}

Json Json::Whole(std::int64_t number) {
  Json value;
  value.kind_ = Kind::Number;
  value.is_whole_ = true;
  value.whole_ = number;
  value.number_ = static_cast<double>(number);
  return value;
}

Json Json::Real(double number) {
  Json value;
  value.kind_ = Kind::Number;
  value.number_ = number;
  return value;
}

Json Json::Bool(bool boolean) {
  Json value;
  value.kind_ = Kind::Boolean;
  value.boolean_ = boolean;
  return value;
}

Json Json::Array(std::vector<Json> items) {
  Json value;
  value.kind_ = Kind::Array;
  value.items_ = std::move(items);
  return value;
}

Json Json::Object(std::map<std::string, Json> members) {
  Json value;
  value.kind_ = Kind::Object;
  value.members_ = std::move(members);
  return value;
}

Json Json::Integers(const std::vector<std::int64_t>& numbers) {
  Json value = Array();
  for (const std::int64_t number : numbers) value.items_.push_back(Whole(number));
  return value;
}

const Json& Json::operator[](const std::string& name) const {
  static const Json absent;
  const auto found = members_.find(name);
  return found == members_.end() ? absent : found->second;
}

void Json::Set(const std::string& name, Json value) {
  if (kind_ != Kind::Object) *this = Object();
  members_.insert_or_assign(name, std::move(value));
}

void Json::Append(Json value) {
  if (kind_ != Kind::Array) *this = Array();
  items_.push_back(std::move(value));
}

double Json::Number(double fallback) const { return kind_ == Kind::Number ? number_ : fallback; }

std::int64_t Json::Integer(std::int64_t fallback) const {
  if (kind_ == Kind::Number) {
    if (is_whole_) return whole_;
    return std::abs(number_) < 9.2e18 && std::trunc(number_) == number_ ? static_cast<std::int64_t>(number_) : fallback;
  }
  std::int64_t number = 0;
  const auto [end, result] = std::from_chars(text_.data(), text_.data() + text_.size(), number);
  return kind_ == Kind::String && result == std::errc() && end == text_.data() + text_.size() ? number : fallback;
}

std::vector<std::int64_t> Json::IntegerItems() const {
  std::vector<std::int64_t> numbers;
  for (const Json& item : items_) numbers.push_back(item.Integer(0));
  return numbers;
}

namespace {

void WriteString(const std::string& text, std::string& to) {
  to += '"';
  for (const char character : text) {
    if (character == '"' || character == '\\') {
      to += '\\';
      to += character;
    } else if (static_cast<unsigned char>(character) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(character)));
      to += code;
    } else {
      to += character;
    }
  }
  to += '"';
}

}  // namespace

std::string Json::Write() const {
  std::string text;
  Write(text);
  return text;
}

void Json::Write(std::string& to) const {
  switch (kind_) {
    case Kind::Null:
      to += "null";
      return;
    case Kind::Boolean:
      to += boolean_ ? "true" : "false";
      return;
    case Kind::Number: {
      // JSON has no words for infinity and not-a-number.
      if (!is_whole_ && !std::isfinite(number_)) {
        to += "null";
        return;
      }
      char digits[32];
      const std::to_chars_result end = is_whole_ ? std::to_chars(digits, digits + sizeof digits, whole_) : std::to_chars(digits, digits + sizeof digits, number_);
      to.append(digits, end.ptr);
      return;
    }
    case Kind::String:
      WriteString(text_, to);
      return;
    case Kind::Array: {
      to += '[';
      const char* separator = "";
      for (const Json& item : items_) {
        to += separator;
        item.Write(to);
        separator = ",";
      }
      to += ']';
      return;
    }
    case Kind::Object: {
      to += '{';
      const char* separator = "";
      for (const auto& [name, member] : members_) {
        to += separator;
        WriteString(name, to);
        to += ':';
        member.Write(to);
        separator = ",";
      }
      to += '}';
      return;
    }
  }
}

}  // namespace npu_console
