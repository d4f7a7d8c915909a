#include "ascend/gears.h"

#include <algorithm>
#include <cstring>

#include "ascend/error.h"

namespace npu_console::ascend {

namespace {

bool Matches(const OmTensor& input, const Dims& asked) {
  if (input.dims.size() != asked.size()) return false;
  for (size_t axis = 0; axis < asked.size(); axis++) {
    if (asked[axis] < 0 || (input.dims[axis] >= 0 && input.dims[axis] != asked[axis])) return false;
  }
  return true;
}

/** May a request with these shapes run as this gear? */
bool Fits(const Gear& gear, const std::vector<Dims>& asked, Padding padding) {
  for (size_t index = 0; index < asked.size(); index++) {
    if (asked[index].size() != gear.inputs[index].size()) return false;
    for (size_t axis = 0; axis < asked[index].size(); axis++) {
      const int64_t wanted = asked[index][axis];
      const int64_t has = gear.inputs[index][axis];
      const bool may_grow = padding == Padding::All || (padding == Padding::Batch && axis == 0);
      if (wanted > has || (wanted < has && !may_grow) || wanted < 0) return false;
    }
  }
  return true;
}

int64_t Elements(const Gear& gear) {
  int64_t count = 0;
  for (const Dims& dims : gear.inputs) count += ElementCount(dims);
  return count;
}

/** An axis of an input whose length an axis of an output follows. */
struct Source {
  size_t input;
  size_t axis;
};

/**
 * Found by comparing the gears; none: the axis does not change, or follows no single axis in proportion. Several may fit: the same axis is the likeliest, then
 * one of the same length.
 */
std::optional<Source> FindSource(const OmDescription& model, size_t output, size_t axis) {
  const int64_t first = model.gears[0].outputs[output][axis];
  const bool changes = std::any_of(model.gears.begin(), model.gears.end(), [&](const Gear& gear) { return gear.outputs[output][axis] != first; });
  std::optional<Source> best;
  int best_likeness = -1;
  for (size_t input = 0; input < model.inputs.size(); input++) {
    for (size_t from = 0; from < model.gears[0].inputs[input].size(); from++) {
      const int64_t base = model.gears[0].inputs[input][from];
      // With one set of shapes only the batch can be recognised: the first axis on both sides.
      if (!changes && !(model.gears.size() == 1 && axis == 0 && from == 0 && first == base)) continue;
      const auto follows = [&](const Gear& gear) { return gear.outputs[output][axis] * base == first * gear.inputs[input][from]; };
      const int likeness = (first == base ? 2 : 0) + (axis == from ? 1 : 0);
      if (base <= 0 || likeness <= best_likeness || !std::all_of(model.gears.begin(), model.gears.end(), follows)) continue;
      best = Source{input, from};
      best_likeness = likeness;
    }
  }
  return best;
}

std::string Shapes(const OmDescription& model) {
  std::string text;
  if (model.gear_kind == GearKind::None) {
    for (const OmTensor& input : model.inputs) text += (text.empty() ? "" : ", ") + input.name + " " + DimsText(input.dims);
    return "Compiled for: " + text;
  }
  for (const Gear& gear : model.gears) text += (text.empty() ? "" : ", ") + gear.text;
  return "Its gears are: " + text;
}

}  // namespace

RunPlan PlanRun(const OmDescription& model, const std::vector<Dims>& asked, Padding padding) {
  RunPlan plan{std::nullopt, asked, asked, {}, {}};
  for (size_t index = 0; index < asked.size(); index++) {
    const OmTensor& input = model.inputs[index];
    const bool is_open = model.has_free_shapes() ? !Matches(input, asked[index]) : asked[index].size() != input.dims.size();
    if (is_open) {
      throw Error(ErrorKind::InvalidArgument, "input '" + input.name + "' has shape " + DimsText(asked[index]) + ", the model takes " + DimsText(input.dims));
    }
  }
  if (model.has_free_shapes()) return plan;
  std::optional<size_t> best;
  for (size_t index = 0; index < model.gears.size(); index++) {
    const Gear& gear = model.gears[index];
    if (Fits(gear, asked, padding) && (!best.has_value() || Elements(gear) < Elements(model.gears[*best]))) best = index;
  }
  if (!best.has_value()) {
    std::string shapes;
    for (size_t index = 0; index < asked.size(); index++) shapes += (index == 0 ? "" : ", ") + model.inputs[index].name + " " + DimsText(asked[index]);
    throw Error(ErrorKind::InvalidArgument, "no compiled shape of the model holds " + shapes + ". " + Shapes(model) +
                                                (padding == Padding::All ? "" : padding == Padding::Batch ? "; only the batch is padded" : "; nothing is padded") +
                                                ". Compile it with a gear that is large enough");
  }
  const Gear& gear = model.gears[*best];
  plan.gear = best;
  plan.inputs = gear.inputs;
  plan.outputs = gear.outputs;
  plan.cropped = gear.outputs;
  if (plan.inputs == asked) return plan;
  for (size_t output = 0; output < plan.outputs.size(); output++) {
    for (size_t axis = 0; axis < plan.outputs[output].size(); axis++) {
      const auto source = FindSource(model, output, axis);
      if (!source.has_value()) continue;
      const int64_t from = gear.inputs[source->input][source->axis];
      const int64_t wanted = asked[source->input][source->axis];
      plan.cropped[output][axis] = (plan.outputs[output][axis] * wanted + from - 1) / from;
    }
  }
  return plan;
}

void CopyBlock(void* target, const Dims& target_dims, const void* source, const Dims& source_dims, const Dims& dims, size_t element_bytes, bool clear) {
  auto* to = static_cast<char*>(target);
  const auto* from = static_cast<const char*>(source);
  // Axes from the end that are whole on both sides are one run of bytes.
  size_t run = element_bytes;
  size_t axes = dims.size();
  while (axes > 0 && dims[axes - 1] == target_dims[axes - 1] && dims[axes - 1] == source_dims[axes - 1]) run *= static_cast<size_t>(dims[--axes]);
  const auto total = [&](const Dims& all) { return static_cast<size_t>(ElementCount(all)) * element_bytes; };
  if (axes == 0) {
    std::memcpy(to, from, run);
    return;
  }
  if (clear) std::memset(to, 0, total(target_dims));
  if (ElementCount(dims) == 0) return;
  // The last axis that is not whole is one run as well.
  axes--;
  const size_t target_run = run * static_cast<size_t>(target_dims[axes]);
  const size_t source_run = run * static_cast<size_t>(source_dims[axes]);
  run *= static_cast<size_t>(dims[axes]);
  Dims at(axes, 0);
  while (true) {
    size_t target_index = 0;
    size_t source_index = 0;
    for (size_t axis = 0; axis < axes; axis++) {
      target_index = target_index * static_cast<size_t>(target_dims[axis]) + static_cast<size_t>(at[axis]);
      source_index = source_index * static_cast<size_t>(source_dims[axis]) + static_cast<size_t>(at[axis]);
    }
    std::memcpy(to + target_index * target_run, from + source_index * source_run, run);
    size_t axis = axes;
    while (axis > 0 && ++at[axis - 1] == dims[axis - 1]) at[--axis] = 0;
    if (axis == 0) return;
  }
}

}  // namespace npu_console::ascend
