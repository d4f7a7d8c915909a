#include "gears.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "common/error.h"

namespace npu_console::npu_ge {

namespace {

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    std::string_view part = text.substr(0, end);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    parts.push_back(part);
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::int64_t> Numbers(std::string_view text, std::int64_t least, const std::string& option, const std::string& whole) {
  std::vector<std::int64_t> numbers;
  if (text.empty()) return numbers;
  for (const std::string_view part : Split(text, ',')) {
    std::int64_t number = 0;
    const auto [end, problem] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (problem != std::errc() || end != part.data() + part.size() || number < least) {
      throw kit::InvalidArgument(option + " \"" + whole + "\" cannot be read at '" + std::string(part) + "': write it like " +
                                 (option == "ge.inputShape" ? "\"x:-1,3,224,224;y:-1,16\"" : "\"1;2;4;8\", with one number for each -1 of ge.inputShape"));
    }
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

Gears Gears::Parse(const std::string& input_shape, const std::string& dynamic_dims, const std::vector<std::string>& inputs, bool is_batching, std::size_t most) {
  std::vector<GearInput> listed;
  for (const std::string_view entry : Split(input_shape, ';')) {
    if (entry.empty()) continue;
    const std::size_t colon = entry.rfind(':');
    if (colon == std::string_view::npos) throw kit::InvalidArgument("ge.inputShape \"" + input_shape + "\" lacks a ':' between the name of an input and its dimensions");
    listed.push_back({std::string(entry.substr(0, colon)), Numbers(entry.substr(colon + 1), -1, "ge.inputShape", input_shape)});
  }
  for (const std::string& name : inputs) {
    const auto same = [&](const GearInput& input) { return input.name == name; };
    if (std::count_if(listed.begin(), listed.end(), same) != 1) {
      throw kit::InvalidArgument("ge.inputShape \"" + input_shape + "\" has to list every input of the model once, and '" + name + "' it does not");
    }
  }
  if (listed.size() != inputs.size()) throw kit::InvalidArgument("ge.inputShape \"" + input_shape + "\" lists something that is no input of the model");
  std::size_t open = 0;
  for (const GearInput& input : listed) open += static_cast<std::size_t>(std::count(input.dims.begin(), input.dims.end(), -1));
  if (open == 0) throw kit::InvalidArgument("ge.inputShape \"" + input_shape + "\" has no -1, so there is nothing that gears could differ in");

  Gears gears;
  gears.is_batching_ = is_batching;
  for (const std::string_view entry : Split(dynamic_dims, ';')) {
    if (entry.empty()) continue;
    gears.values_.push_back(Numbers(entry, 1, "ge.dynamicDims", dynamic_dims));
    const std::vector<std::int64_t>& values = gears.values_.back();
    if (values.size() != open) {
      throw kit::InvalidArgument("the gear \"" + std::string(entry) + "\" of ge.dynamicDims has " + std::to_string(values.size()) + " numbers, and ge.inputShape has " +
                                 std::to_string(open) + " times -1");
    }
    // The numbers follow ge.inputShape's order, the shapes the model's.
    std::vector<std::vector<std::int64_t>> shapes(inputs.size());
    std::size_t next = 0;
    for (const GearInput& input : listed) {
      std::vector<std::int64_t>& dims = shapes[static_cast<std::size_t>(std::find(inputs.begin(), inputs.end(), input.name) - inputs.begin())];
      dims = input.dims;
      for (std::int64_t& dim : dims) {
        if (dim == -1) dim = values[next++];
      }
    }
    gears.shapes_.push_back(std::move(shapes));
  }
  if (gears.size() < 2 || gears.size() > most) {
    throw kit::InvalidArgument("ge.dynamicDims names " + std::to_string(gears.size()) + " gears, and GE takes 2 to " + std::to_string(most) +
                               ": three or four are usually enough, as each one is compiled");
  }
  return gears;
}

bool Gears::Matches(const std::vector<std::vector<std::int64_t>>& gear, const std::vector<std::vector<std::int64_t>>& shapes) const {
  if (gear.size() != shapes.size()) return false;
  for (std::size_t input = 0; input < gear.size(); ++input) {
    if (gear[input].size() != shapes[input].size()) return false;
    for (std::size_t axis = 0; axis < gear[input].size(); ++axis) {
      if ((axis > 0 || !is_batching_) && gear[input][axis] != shapes[input][axis]) return false;
    }
  }
  return true;
}

std::optional<std::vector<std::vector<std::int64_t>>> Gears::Fit(const std::vector<std::vector<std::int64_t>>& shapes) const {
  const std::vector<std::vector<std::int64_t>>* best = nullptr;
  for (const auto& gear : shapes_) {
    if (!Matches(gear, shapes)) continue;
    bool is_enough = true;
    if (is_batching_) {
      for (std::size_t input = 0; input < gear.size(); ++input) is_enough = is_enough && (gear[input].empty() || gear[input][0] >= shapes[input][0]);
    }
    if (!is_enough) continue;
    if (best == nullptr || (is_batching_ && gear[0][0] < (*best)[0][0])) best = &gear;
  }
  return best == nullptr ? std::nullopt : std::optional(*best);
}

std::int64_t Gears::LargestBatch(const std::vector<std::vector<std::int64_t>>& shapes) const {
  std::int64_t largest = 0;
  for (const auto& gear : shapes_) {
    if (Matches(gear, shapes) && !gear.empty() && !gear[0].empty()) largest = std::max(largest, gear[0][0]);
  }
  return largest;
}

std::vector<std::string> Gears::Texts() const {
  std::vector<std::string> texts;
  for (const std::vector<std::int64_t>& values : values_) {
    std::string& text = texts.emplace_back();
    for (const std::int64_t value : values) text += (text.empty() ? "" : ",") + std::to_string(value);
  }
  return texts;
}

}  // namespace npu_console::npu_ge
