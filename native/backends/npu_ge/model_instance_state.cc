#include "model_instance_state.h"

#include <algorithm>
#include <cstring>

#include "dim_expression.h"

namespace npu_console::npu_ge {

namespace {

using Shapes = std::vector<std::vector<std::int64_t>>;

std::string Text(const Shapes& shapes) {
  std::string text;
  for (const auto& shape : shapes) text += kit::ShapeText(shape);
  return text;
}

std::uint64_t Elements(const Shapes& shapes) {
  std::uint64_t sum = 0;
  for (const auto& shape : shapes) sum += static_cast<std::uint64_t>(kit::ElementCount(shape));
  return sum;
}

// Bytes [from, from + count) of the members' inputs of that name, one after another.
void CopyBytes(const kit::Batch& batch, const std::string& name, std::uint64_t from, std::uint64_t count, char* target) {
  for (const std::size_t member : batch.members()) {
    for (const kit::Piece& piece : batch.Input(member, name)->pieces) {
      if (count == 0) return;
      if (from >= piece.byte_size) {
        from -= piece.byte_size;
        continue;
      }
      const std::uint64_t taken = std::min(count, piece.byte_size - from);
      std::memcpy(target, static_cast<const char*>(piece.data) + from, taken);
      target += taken;
      count -= taken;
      from = 0;
    }
  }
}

}  // namespace

ModelInstanceState::ModelInstanceState(TRITONBACKEND_ModelInstance* instance, ModelState& model) : model_(model), handle_(instance) {
  const kit::InstanceFacts facts = kit::ReadInstance(instance);
  if (facts.kind == TRITONSERVER_INSTANCEGROUPKIND_GPU) {
    device_ = facts.device_id;
    const std::vector<int>& devices = model.devices();
    if (std::find(devices.begin(), devices.end(), *device_) == devices.end()) {
      throw kit::InvalidArgument("Instance '" + facts.name + "' belongs to card " + std::to_string(*device_) + ", which device_ids does not name: change one of them");
    }
  }
  model.Enter();
}

ModelInstanceState::~ModelInstanceState() { model_.Leave(); }

TRITONSERVER_Error* ModelInstanceState::Execute(TRITONBACKEND_Request** requests, std::uint32_t count) {
  return kit::ExecuteBatch(handle_, requests, count, model_.config(), [&](kit::Batch& batch) { Translated([&] { Run(batch); }); });
}

void ModelInstanceState::CheckReady() {
  if (const auto problem = model_.scheduler().Problem(device_); problem.has_value()) throw kit::Unavailable(*problem);
}

const char* ModelInstanceState::Report() {
  report_ = model_.Report(device_).Write();
  return report_.c_str();
}

Shapes ModelInstanceState::InputShapes(const kit::Batch& batch) const {
  Shapes shapes;
  for (const TensorSignature& input : model_.signature().inputs) {
    std::vector<std::int64_t> shape = batch.GatheredShape(input.name);
    // A scalar of the model, which a configuration writes as one element.
    if (input.has_shape && input.dims.empty() && shape == std::vector<std::int64_t>{1}) shape.clear();
    if (input.has_shape && input.dims.size() != shape.size()) {
      throw kit::InvalidArgument("input '" + input.name + "' has shape " + kit::ShapeText(shape) + ", and the model has " + kit::ShapeText(input.shape()));
    }
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

// As many parts as the instance has blocks, each at most as large as the largest gear, padded to the gear that fits.
std::vector<ModelInstanceState::Part> ModelInstanceState::Divide(const kit::Batch& batch, const Shapes& shapes) const {
  const bool is_batching = model_.config().is_batching();
  const std::int64_t rows = is_batching ? batch.batch_size() : 1;
  std::int64_t parts = is_batching ? std::min<std::int64_t>(rows, model_.options().instance_exec_blocks) : 1;
  const std::optional<Gears>& gears = model_.gears();
  const auto no_gear = [&] {
    std::string list;
    for (const std::string& gear : gears->Texts()) list += (list.empty() ? "" : "; ") + gear;
    return kit::InvalidArgument("there is no gear for inputs of the shapes " + Text(shapes) + ": the gears of the model are " + list + " (ge.dynamicDims)");
  };
  if (gears.has_value() && is_batching) {
    const std::int64_t largest = gears->LargestBatch(shapes);
    if (largest == 0) throw no_gear();
    parts = std::max(parts, (rows + largest - 1) / largest);
  }
  std::vector<Part> divided;
  for (std::int64_t index = 0; index < parts; ++index) {
    Part& part = divided.emplace_back();
    part.first_row = rows * index / parts;
    part.rows = rows * (index + 1) / parts - part.first_row;
    part.shapes = shapes;
    if (is_batching) {
      for (auto& shape : part.shapes) shape.front() = part.rows;
    }
    if (!gears.has_value()) continue;
    const auto fitting = gears->Fit(part.shapes);
    if (!fitting.has_value()) throw no_gear();
    part.shapes = *fitting;
  }
  return divided;
}

// What the outputs of a run with these inputs will be like: from the names of their dimensions, else from what GE says of the compiled graph.
void ModelInstanceState::PlanOutputs(const Part& part, Job& job) const {
  DimensionSizes sizes;
  const ModelSignature& signature = model_.signature();
  for (std::size_t input = 0; input < signature.inputs.size(); ++input) {
    for (std::size_t axis = 0; axis < signature.inputs[input].dims.size(); ++axis) {
      const Dimension& dimension = signature.inputs[input].dims[axis];
      if (dimension.is_open() && !dimension.name.empty()) sizes.emplace(dimension.name, part.shapes[input][axis]);
    }
  }
  const std::vector<NpuGeTensor>& described = part.card->facts().outputs;
  job.outputs_known = true;
  for (std::size_t index = 0; index < signature.outputs.size(); ++index) {
    const TensorSignature& output = signature.outputs[index];
    JobOutput& planned = job.outputs.emplace_back();
    planned.type = GeTypeOf(output.datatype);
    bool is_known = output.has_shape;
    for (const Dimension& dimension : output.dims) {
      const auto size = dimension.is_open() ? EvaluateDimension(dimension.name, sizes) : std::optional(dimension.size);
      planned.dims.push_back(size.value_or(-1));
      is_known = is_known && size.has_value();
    }
    if (!is_known && index < described.size()) {
      planned.dims.assign(described[index].dims, described[index].dims + described[index].rank);
      // With gears GE tells the largest one's: enough for all.
      is_known = std::all_of(planned.dims.begin(), planned.dims.end(), [](std::int64_t dim) { return dim >= 0; });
    }
    job.outputs_known = job.outputs_known && is_known;
    if (is_known) planned.byte_size = ByteSize(planned.type, planned.dims);
  }
}

// With the cost promised to it.
std::shared_ptr<Card> ModelInstanceState::ChooseCard(double cost) {
  while (true) {
    std::shared_ptr<Card> card = model_.scheduler().Choose(cost, device_);
    if (!card->NoticeReset()) return card;
    card->Unpromise(cost);
    model_.scheduler().Replace(card);
  }
}

void ModelInstanceState::Submit(const kit::Batch& batch, Part& part) {
  const std::uint64_t elements = Elements(part.shapes);
  const double cost = model_.scheduler().Cost(Text(part.shapes), elements);
  part.card = ChooseCard(cost);
  try {
    auto job = std::make_shared<Job>(part.card->device());
    job->cost = cost;
    const ModelSignature& signature = model_.signature();
    for (std::size_t index = 0; index < signature.inputs.size(); ++index) {
      const TensorSignature& input = signature.inputs[index];
      JobInput& given = job->inputs.emplace_back();
      given.type = GeTypeOf(input.datatype);
      given.dims = part.shapes[index];
      given.byte_size = ByteSize(given.type, given.dims);
      given.pinned = job->device->pinned_memory().Take(std::max<std::uint64_t>(1, given.byte_size));
      std::uint64_t from = 0, count = given.byte_size;
      if (model_.config().is_batching() && given.dims.front() > 0) {
        const std::uint64_t row = given.byte_size / static_cast<std::uint64_t>(given.dims.front());
        from = row * static_cast<std::uint64_t>(part.first_row);
        count = row * static_cast<std::uint64_t>(part.rows);
      }
      auto* const target = static_cast<char*>(given.pinned.data());
      CopyBytes(batch, input.name, from, count, target);
      // The padding of a gear.
      std::memset(target + count, 0, given.byte_size - count);
    }
    PlanOutputs(part, *job);
    part.job = std::move(job);
  } catch (...) {
    part.card->Unpromise(cost);
    throw;
  }
  part.card->Submit(part.job);
}

// The end of a run. One that never began because its card was reset goes to the card that is built in its place; because it failed under others, to another one, as
// long as there is one.
void ModelInstanceState::Wait(const kit::Batch& batch, Part& part) {
  while (true) {
    try {
      part.card->Wait(part.job);
      break;
    } catch (const ascend::Error& error) {
      if (error.scope() != ascend::FaultScope::Call && !part.card->was_reset()) model_.scheduler().WakeRecovery();
      bool is_started = true;
      {
        const std::lock_guard lock(part.job->mutex);
        is_started = part.job->is_started;
      }
      if (!is_started && part.card->was_reset()) {
        model_.scheduler().Replace(part.card);
      } else if (is_started || model_.scheduler().Problem(device_).has_value()) {
        throw;
      }
    }
    Submit(batch, part);
  }
  const auto spent = std::chrono::duration<double, std::micro>(part.job->run_end - part.job->run_start);
  model_.scheduler().Learn(Text(part.shapes), Elements(part.shapes), spent.count());
}

void ModelInstanceState::Run(kit::Batch& batch) {
  if (model_.config().is_batching() && batch.batch_size() == 0) throw kit::InvalidArgument("the batch of the request is empty, and a card runs nothing for it");
  const Shapes shapes = InputShapes(batch);
  std::vector<Part> parts = Divide(batch, shapes);
  std::size_t submitted = 0;
  std::exception_ptr failure;
  const auto keep = [&](const auto& step) {
    try {
      step();
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  };
  keep([&] {
    for (Part& part : parts) {
      Submit(batch, part);
      ++submitted;
    }
  });
  // Also where one went wrong: what runs reads no request, but its end is waited for, so that one batch never crowds out the next.
  for (std::size_t index = 0; index < submitted; ++index) keep([&] { Wait(batch, parts[index]); });
  if (failure) std::rethrow_exception(failure);

  Clock::time_point start = parts.front().job->run_start, end = parts.front().job->run_end;
  for (const Part& part : parts) {
    start = std::min(start, part.job->run_start);
    end = std::max(end, part.job->run_end);
  }
  const auto nanoseconds = [](Clock::time_point at) {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count());
  };
  batch.SetComputeStart(nanoseconds(start));
  batch.SetComputeEnd(nanoseconds(end));
  for (std::size_t output = 0; output < model_.signature().outputs.size(); ++output) Respond(batch, parts, output);
  batch.UpdateStates();
}

void ModelInstanceState::Respond(kit::Batch& batch, const std::vector<Part>& parts, std::size_t output) const {
  const TensorSignature& signature = model_.signature().outputs[output];
  const bool is_batching = model_.config().is_batching();
  // Of each part the rows that are no padding.
  std::vector<std::uint64_t> sizes;
  std::vector<std::int64_t> shape;
  std::uint64_t total = 0;
  for (const Part& part : parts) {
    const JobOutput& result = part.job->outputs[output];
    std::vector<std::int64_t> own = result.dims;
    std::uint64_t size = result.byte_size;
    if (is_batching && !own.empty() && own.front() > part.rows && own.front() == part.shapes.front().front()) {
      size = size / static_cast<std::uint64_t>(own.front()) * static_cast<std::uint64_t>(part.rows);
      own.front() = part.rows;
    }
    if (shape.empty()) {
      shape = std::move(own);
    } else if (!own.empty() && std::equal(own.begin() + 1, own.end(), shape.begin() + 1, shape.end())) {
      shape.front() += own.front();
    } else {
      throw kit::Internal("output '" + signature.name + "' has a shape that differs between the parts of a batch: set instance_exec_blocks to 1");
    }
    sizes.push_back(size);
    total += size;
  }
  const auto copy = [&](void* target, std::uint64_t offset, std::uint64_t byte_size) {
    auto* to = static_cast<char*>(target);
    for (std::size_t index = 0; index < parts.size() && byte_size > 0; ++index) {
      if (offset >= sizes[index]) {
        offset -= sizes[index];
        continue;
      }
      const std::uint64_t taken = std::min(byte_size, sizes[index] - offset);
      std::memcpy(to, static_cast<const char*>(parts[index].job->outputs[output].pinned.data()) + offset, taken);
      to += taken;
      byte_size -= taken;
      offset = 0;
    }
  };
  batch.Respond(signature.name, signature.datatype, shape, total, copy);
  for (const kit::StateConfig& state : model_.config().states) {
    if (state.output_name != signature.name) continue;
    for (const kit::Slice& slice : batch.Share(signature.name, signature.datatype, shape)) {
      copy(batch.StateBuffer(slice.member, state.output_name, signature.datatype, slice.shape, slice.byte_size), slice.offset, slice.byte_size);
    }
  }
}

}  // namespace npu_console::npu_ge
