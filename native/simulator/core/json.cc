#include "core/json.h"

#include <cstdlib>

namespace simulator {

class JsonParser {
 public:
  JsonParser(const std::string &text, int maxDepth) : text_(text), maxDepth_(maxDepth) {}

  bool Document(Json &result, std::string &error) {
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

  bool Problem(const char *text) {
    if (problem_.empty()) problem_ = text;
    return false;
  }

  bool Take(char wanted) {
    Space();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    at_++;
    return true;
  }

  bool Word(const char *word) {
    const std::string wanted(word);
    if (text_.compare(at_, wanted.size(), wanted) != 0) return Problem("unknown word");
    at_ += wanted.size();
    return true;
  }

  bool Value(Json &value, int depth) {
    if (depth > maxDepth_) return Problem("nested too deeply");
    Space();
    if (at_ >= text_.size()) return Problem("the text ends early");
    switch (text_[at_]) {
      case '{': return Object(value, depth);
      case '[': return Array(value, depth);
      case '"': value.kind_ = Json::Kind::String; return String(value.text_);
      case 't': value.kind_ = Json::Kind::Boolean; value.number_ = 1; return Word("true");
      case 'f': value.kind_ = Json::Kind::Boolean; value.number_ = 0; return Word("false");
      case 'n': value.kind_ = Json::Kind::Null; return Word("null");
      default: return Number(value);
    }
  }

  bool Number(Json &value) {
    const char *start = text_.c_str() + at_;
    char *end = nullptr;
    value.number_ = std::strtod(start, &end);
    if (end == start) return Problem("no value");
    value.kind_ = Json::Kind::Number;
    at_ += static_cast<size_t>(end - start);
    return true;
  }

  bool String(std::string &text) {
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
    return Take('"') || Problem("a string does not end");
  }

  /** Of the basic plane: what a path or a name needs. */
  bool Unicode(std::string &text) {
    if (at_ + 4 > text_.size()) return Problem("a \\u needs four digits");
    const unsigned long code = std::strtoul(text_.substr(at_, 4).c_str(), nullptr, 16);
    at_ += 4;
    if (code < 0x80) {
      text += static_cast<char>(code);
    } else if (code < 0x800) {
      text += static_cast<char>(0xC0 | (code >> 6));
      text += static_cast<char>(0x80 | (code & 0x3F));
    } else {
      text += static_cast<char>(0xE0 | (code >> 12));
      text += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
      text += static_cast<char>(0x80 | (code & 0x3F));
    }
    return true;
  }

  bool Array(Json &value, int depth) {
    value.kind_ = Json::Kind::Array;
    at_++;
    if (Take(']')) return true;
    do {
      value.items_.emplace_back();
      if (!Value(value.items_.back(), depth + 1)) return false;
    } while (Take(','));
    return Take(']') || Problem("an array does not end");
  }

  bool Object(Json &value, int depth) {
    value.kind_ = Json::Kind::Object;
    at_++;
    if (Take('}')) return true;
    do {
      Space();
      if (at_ >= text_.size() || text_[at_] != '"') return Problem("a member needs a name in quotes");
      std::string name;
      if (!String(name)) return false;
      if (!Take(':')) return Problem("a colon is missing");
      if (!Value(value.members_[name], depth + 1)) return false;
    } while (Take(','));
    return Take('}') || Problem("an object does not end");
  }

  const std::string &text_;
  const int maxDepth_;
  size_t at_ = 0;
  std::string problem_;
};

bool Json::Parse(const std::string &text, Json &result, std::string &error, int maxDepth) {
  result = Json();
  return JsonParser(text, maxDepth).Document(result, error);
}

const Json &Json::operator[](const std::string &name) const {
  static const Json absent;
  const auto found = members_.find(name);
  return found == members_.end() ? absent : found->second;
}

}  // namespace simulator
