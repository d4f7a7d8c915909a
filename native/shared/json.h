// A small JSON value: reads configurations and writes them back. Whole numbers are kept exactly (int64), since dims and ids are that.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace npu_console {

class Json {
 public:
  enum class Kind { Null, Boolean, Number, String, Array, Object };

  Json() = default;
  static Json Text(std::string text);
  static Json Whole(std::int64_t number);
  static Json Real(double number);
  static Json Bool(bool value);
  static Json Array(std::vector<Json> items = {});
  static Json Object(std::map<std::string, Json> members = {});
  static Json Integers(const std::vector<std::int64_t>& numbers);

  // `error`: what is wrong and at which byte. False when the text is no JSON or is nested deeper than `max_depth`.
  static bool Parse(const std::string& text, Json& result, std::string& error, int max_depth = 32);
  // One line, members in the order of their names.
  std::string Write() const;

  Kind kind() const { return kind_; }
  bool IsNull() const { return kind_ == Kind::Null; }
  bool IsObject() const { return kind_ == Kind::Object; }
  bool IsArray() const { return kind_ == Kind::Array; }
  // A null value where the member is absent.
  const Json& operator[](const std::string& name) const;
  bool Has(const std::string& name) const { return members_.contains(name); }
  // Makes the value an object, or an array.
  void Set(const std::string& name, Json value);
  void Append(Json value);
  const std::map<std::string, Json>& members() const { return members_; }
  const std::vector<Json>& items() const { return items_; }

  double Number(double fallback) const;
  // Also of a string of digits: protobuf writes 64-bit numbers so.
  std::int64_t Integer(std::int64_t fallback) const;
  // The items of an array as Integer() reads them.
  std::vector<std::int64_t> IntegerItems() const;
  bool Boolean(bool fallback) const { return kind_ == Kind::Boolean ? boolean_ : fallback; }
  std::string String(const std::string& fallback) const { return kind_ == Kind::String ? text_ : fallback; }

 private:
  friend class JsonParser;
  void Write(std::string& to) const;

  Kind kind_ = Kind::Null;
  bool boolean_ = false;
  bool is_whole_ = false;
  std::int64_t whole_ = 0;
  double number_ = 0;
  std::string text_;
  std::vector<Json> items_;
  std::map<std::string, Json> members_;
};

}  // namespace npu_console
