// What an .om file is, as JSON: for om-passport and the Python binding.
#pragma once

#include "ascend/om_description.h"
#include "shared/json.h"

namespace npu_console {

/** An object with graph, gear_kind, gears, inputs and outputs. Gears are listed only where the file has several shapes. */
Json DescriptionJson(const ascend::OmDescription& model);

}  // namespace npu_console
