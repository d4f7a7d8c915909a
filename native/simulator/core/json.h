// Reads the simulator's own JSON files and AscendCL's configuration file: numbers, strings, arrays, objects; nothing is written.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace simulator {

class Json {
 public:
  enum class Kind { Null, Boolean, Number, String, Array, Object };

  /** @param error what is wrong and at which byte @returns false when the text is no JSON or is nested deeper than `maxDepth` */
  static bool Parse(const std::string &text, Json &result, std::string &error, int maxDepth = 32);

  Kind kind() const { return kind_; }
  bool IsObject() const { return kind_ == Kind::Object; }
  /** A null value where the member is absent. */
  const Json &operator[](const std::string &name) const;
  const std::map<std::string, Json> &members() const { return members_; }
  const std::vector<Json> &items() const { return items_; }
  double Number(double fallback) const { return kind_ == Kind::Number ? number_ : fallback; }
  bool Boolean(bool fallback) const { return kind_ == Kind::Boolean ? number_ != 0 : fallback; }
  std::string String(const std::string &fallback) const { return kind_ == Kind::String ? text_ : fallback; }

 private:
  friend class JsonParser;
  Kind kind_ = Kind::Null;
  double number_ = 0;
  std::string text_;
  std::vector<Json> items_;
  std::map<std::string, Json> members_;
};

}  // namespace simulator
