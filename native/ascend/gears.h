// Which of a model's shapes a request runs with, and how its tensors are padded to that shape and cut back to their own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ascend/om_description.h"

namespace npu_console::ascend {

/** How far a request may be padded with zeros to fit. */
enum class Padding {
  None,   // shapes must be those of a gear
  Batch,  // the first dimension
  All,    // every open dimension: right for models that ignore zeros at the end (masks, convolutions with zero borders)
};

/** The shapes of one run. */
struct RunPlan {
  /** Index of the gear; none: free shapes. */
  std::optional<size_t> gear;
  /** As the request has them. */
  std::vector<Dims> asked;
  /** As the card gets them. */
  std::vector<Dims> inputs;
  /** As the card gives them, and as the request wants them; empty where they are known only after the run. */
  std::vector<Dims> outputs;
  std::vector<Dims> cropped;
};

/**
 * The smallest gear that holds the request.
 * @param asked shapes in the order of the model's inputs
 * @throws Error InvalidArgument that names input, shape and what the model has
 */
RunPlan PlanRun(const OmDescription& model, const std::vector<Dims>& asked, Padding padding);

/** Copies a block of `dims` between two tensors that begin at the same corner; what `target` has beyond it becomes zero if `clear`. */
void CopyBlock(void* target, const Dims& target_dims, const void* source, const Dims& source_dims, const Dims& dims, size_t element_bytes, bool clear);

}  // namespace npu_console::ascend
