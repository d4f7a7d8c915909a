// A model compiled for a simulated chip: the ONNX bytes, the shapes it may run with, and the cores it was compiled for. atc, the in-process
// build and GE's CompileGraph make one; an .om file (om_file.h) is one on disk, and one on a device is a LoadedModel.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/onnx.h"
#include "core/settings.h"

namespace simulator {

enum class GearKind : uint32_t { None = 0, Batch = 1, Image = 2, Dims = 3 };

/** One set of shapes that a compiled model runs with. */
struct Variant {
  /** What the user wrote: the batch, height and width, or all open dimensions in order. */
  std::vector<int64_t> gear;
  std::vector<std::vector<int64_t>> inputs;
  std::vector<std::vector<int64_t>> outputs;
};

/** What a model is compiled with: the words of atc and of GE's options. */
struct CompileRequest {
  std::string name;
  std::string soc;
  /** "x:1,3,224,224;y:-1,4"; empty: the shapes of the ONNX file. */
  std::string inputShape;
  GearKind gearKind = GearKind::None;
  /** "1,2,4,8" for batches, else "a,b;c,d". */
  std::string gears;
  /** "12|10", "8" or empty for all cores. */
  std::string aicoreNum;
  /** ND where gears are free dimensions. */
  std::string inputFormat;
};

struct CompiledModel {
  std::string name;
  std::string soc;
  GearKind gearKind = GearKind::None;
  int cubeCores = 0;
  int vectorCores = 0;
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;
  /** Empty: the shapes are free (no gears, open dimensions). */
  std::vector<Variant> variants;
  std::string onnx;

  bool IsDynamic() const { return variants.empty(); }
  /** The variant with the most input elements: what runs when no gear was chosen. */
  size_t LargestVariant() const;
  uint64_t WeightBytes() const { return onnx.size(); }
  uint64_t WorkBytes() const;
  /** Of the largest gear; 0 when the shapes are free. */
  size_t InputBytes(size_t index) const;
  size_t OutputBytes(size_t index) const;
};

/** Reads a core count as `ge.aicoreNum` and `--aicore_num` have it. @returns false with the reason when it does not fit the chip */
bool ParseCores(const std::string &text, const Profile &profile, int &cube, int &vector, std::string &error);

/** Compiles and checks: each gear is run once to learn its output shapes. @returns null with the reason */
std::shared_ptr<CompiledModel> Compile(const std::string &onnx, const CompileRequest &request, std::string &error);

/** Seconds that the simulated compiler takes, before the time scale. */
double CompileSeconds(const CompiledModel &model);

/** How long one run lasts on that chip, before the time scale. */
double RunMicroseconds(const CompiledModel &model, const Profile &profile, const std::vector<std::vector<int64_t>> &inputs, int cubeCores);

}  // namespace simulator
