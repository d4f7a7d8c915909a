// ONNX Runtime as the arithmetic of the simulated cards, through its C ABI (GetApi(13)); opened at run time from the path in the settings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "acl/acl_rt.h"

namespace simulator {

struct TensorInfo {
  std::string name;
  aclDataType type = ACL_DT_UNDEFINED;
  /** -1 where the model leaves a dimension open. */
  std::vector<int64_t> dims;
};

/** Borrowed bytes with a shape. */
struct TensorView {
  void *data;
  size_t bytes;
  std::vector<int64_t> dims;
};

size_t ElementSize(aclDataType type);
/** -1 when a dimension is open. */
int64_t ElementCount(const std::vector<int64_t> &dims);
/** Bytes of a tensor; 0 when a dimension is open. */
size_t TensorBytes(aclDataType type, const std::vector<int64_t> &dims);

class OnnxSession {
 public:
  /** @returns null with the reason when the library or the model cannot be loaded */
  static std::shared_ptr<OnnxSession> Create(const void *model, size_t bytes, std::string &error);
  ~OnnxSession();
  OnnxSession(const OnnxSession &) = delete;
  OnnxSession &operator=(const OnnxSession &) = delete;

  const std::vector<TensorInfo> &inputs() const { return inputs_; }
  const std::vector<TensorInfo> &outputs() const { return outputs_; }

  /** Runs on the calling thread; `take` gets each output in order and may refuse one with a reason. Any thread, several at once. */
  bool Run(const std::vector<TensorView> &inputs,
           const std::function<bool(size_t index, const TensorView &output, std::string &error)> &take, std::string &error) const;

 private:
  OnnxSession() = default;
  bool Describe(bool input, std::vector<TensorInfo> &tensors, std::string &error);

  void *session_ = nullptr;
  std::vector<TensorInfo> inputs_;
  std::vector<TensorInfo> outputs_;
};

}  // namespace simulator
