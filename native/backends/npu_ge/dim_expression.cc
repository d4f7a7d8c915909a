#include "dim_expression.h"

#include <cctype>
#include <string_view>

namespace npu_console::npu_ge {

namespace {

// Recursive descent; gives up by exception, which is rare: expressions come from the file and are the same each time.
class Parser {
 public:
  Parser(std::string_view text, const DimensionSizes& known) : text_(text), known_(known) {}

  std::optional<std::int64_t> Whole() {
    const std::optional<std::int64_t> value = Sum(0);
    Skip();
    return at_ == text_.size() ? value : std::nullopt;
  }

 private:
  using Value = std::optional<std::int64_t>;
  static constexpr int kDeepest = 64;

  void Skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool Take(char symbol) {
    Skip();
    if (at_ == text_.size() || text_[at_] != symbol) return false;
    ++at_;
    return true;
  }

  Value Sum(int depth) {
    Value left = Product(depth);
    while (left.has_value()) {
      const bool is_plus = Take('+');
      if (!is_plus && !Take('-')) break;
      const Value right = Product(depth);
      if (!right.has_value()) return std::nullopt;
      std::int64_t result = 0;
      if (is_plus ? __builtin_add_overflow(*left, *right, &result) : __builtin_sub_overflow(*left, *right, &result)) return std::nullopt;
      left = result;
    }
    return left;
  }

  Value Product(int depth) {
    Value left = Factor(depth);
    while (left.has_value()) {
      const bool is_times = Take('*');
      if (!is_times && !Take('/')) break;
      const Value right = Factor(depth);
      if (!right.has_value()) return std::nullopt;
      if (is_times) {
        std::int64_t result = 0;
        if (__builtin_mul_overflow(*left, *right, &result)) return std::nullopt;
        left = result;
      } else {
        if (*right == 0 || (*left == INT64_MIN && *right == -1)) return std::nullopt;
        const std::int64_t towards_zero = *left / *right;
        left = towards_zero - (*left % *right != 0 && (*left < 0) != (*right < 0) ? 1 : 0);
      }
    }
    return left;
  }

  Value Factor(int depth) {
    if (depth > kDeepest) return std::nullopt;
    if (Take('-')) {
      const Value value = Factor(depth + 1);
      return value.has_value() && *value != INT64_MIN ? Value(-*value) : std::nullopt;
    }
    if (Take('(')) {
      const Value value = Sum(depth + 1);
      return Take(')') ? value : std::nullopt;
    }
    Skip();
    const std::size_t from = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_' || text_[at_] == '.')) ++at_;
    const std::string word(text_.substr(from, at_ - from));
    if (word.empty()) return std::nullopt;
    if (const auto found = known_.find(word); found != known_.end()) return found->second;
    if (word.size() > 18 || word.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
    return std::stoll(word);
  }

  const std::string_view text_;
  const DimensionSizes& known_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::int64_t> EvaluateDimension(const std::string& expression, const DimensionSizes& known) {
  // The plain name first: exporters write what they like into it, "batch size" or "batch-size" for instance.
  if (const auto found = known.find(expression); found != known.end()) return found->second;
  const std::optional<std::int64_t> value = Parser(expression, known).Whole();
  return value.has_value() && *value >= 0 ? value : std::nullopt;
}

}  // namespace npu_console::npu_ge
