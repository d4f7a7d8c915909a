// What an .om file is: its tensors, the shapes it was compiled for, and what it needs of a card.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ascend/acl_api.h"

namespace npu_console::ascend {

using Dims = std::vector<int64_t>;

struct OmTensor {
  std::string name;
  aclDataType type = ACL_DT_UNDEFINED;
  aclFormat format = ACL_FORMAT_ND;
  /** -1: open. Of outputs of a model with gears: those of the largest gear. */
  Dims dims;
  /** Of the largest gear; 0 where a dimension is unbounded. */
  size_t bytes = 0;
};

/** Which option of atc made the gears. */
enum class GearKind { None, Batch, Image, Free };

/** One set of shapes that the model was compiled for. */
struct Gear {
  /** As the file has it: the batch size; height and width; all dimensions of all inputs. */
  Dims key;
  std::vector<Dims> inputs;
  /** Known only of a loaded model. */
  std::vector<Dims> outputs;
  /** "4", "224x224", "x=1,64" */
  std::string text;
};

struct OmDescription {
  /** Without the extra input that carries the gear. */
  std::vector<OmTensor> inputs;
  std::vector<OmTensor> outputs;
  GearKind gear_kind = GearKind::None;
  /** A static model has one, without a key; a model with free shapes none. */
  std::vector<Gear> gears;
  /** Index of the extra input of a model with gears. */
  std::optional<size_t> gear_input;
  size_t gear_input_bytes = 0;

  /** Runs with any shape (atc with -1 and no gears). */
  bool has_free_shapes() const { return gears.empty(); }
  /** "static", "gears" or "dynamic" */
  const char* GraphKind() const;
  /** The number of rows that one run takes at most: the first dimension that all inputs share, over all gears. 0: rows are not what the inputs have. */
  int64_t LargestBatch() const;
};

/** Reads a description. @throws Error */
OmDescription DescribeOm(const AclApi& api, aclmdlDesc* desc);
/** Without loading the model, so that no memory of a card is used. @throws Error Unsupported where this CANN cannot do that */
OmDescription DescribeOmFile(const AclApi& api, const std::string& path);

/** What the bytes of a file tell without CANN. */
struct OmFileFacts {
  /** Begins as .om files do. */
  bool has_signature = false;
  uint64_t bytes = 0;
  /** Names of chips that occur in its text, as "Ascend310P3"; usually one: the chip it was compiled for. */
  std::vector<std::string> chips;
};
/** @throws Error NotFound */
OmFileFacts ReadOmFile(const std::string& path);
/** Tells what is no .om file without CANN, whose words for it are about damaged ones. @throws Error NotFound, InvalidArgument */
OmFileFacts RequireOmFile(const std::string& path);
/** "310P" of "Ascend310P3": chips of one family run each other's files only if Huawei says so, those of different families never do. */
std::string ChipFamily(const std::string& chip);

/** "FP32" as Triton names it; empty where Triton has no such type. */
const char* TritonTypeName(aclDataType type);
/** Bytes of one element; 0: less than one byte, or unknown. */
size_t ElementBytes(aclDataType type);
/** Product of the dims; -1 with an open one. @throws Error InvalidArgument for more elements than an address space has room for, of any type */
int64_t ElementCount(const Dims& dims);
/** "[1,3,-1]" */
std::string DimsText(const Dims& dims);

}  // namespace npu_console::ascend
