#include "wrappers/nn/backend.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "core/base/process/environment.h"
#include "wrappers/nn/configuration/named_config.h"
#include "wrappers/nn/cuda/cuda_plugin.h"
#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

bool Operands::has_gradients() const {
  return std::any_of(input_gradients.begin(), input_gradients.end(),
                     [](const Array &gradient) { return static_cast<bool>(gradient); });
}

Array Backend::make_array(const ArrayType &type) {
  return Array(type, allocate(std::max<size_t>(bytes_of(type), 1)));
}

void Backend::copy(const Array &from, const Array &to) {
  std::memcpy(to.raw(), from.raw(), to.bytes());
}

std::shared_ptr<StepState> Backend::make_step_state(uint64_t seed) {
  return std::make_shared<StepState>(StepState{seed, 0});
}

#ifdef DET_HAS_ONEDNN
std::shared_ptr<Backend> open_onednn_backend(int threads);  // onednn/

std::vector<const char *> backend_names() { return {"onednn", "reference"}; }
#else
std::vector<const char *> backend_names() { return {"reference"}; }
#endif

std::shared_ptr<Backend> open_backend(const std::string &name, [[maybe_unused]] int threads) {
  std::string wanted = name.empty() ? environment_variable("DETNN_BACKEND") : name;
  if (wanted.empty()) wanted = backend_names().front();
  if (wanted == "reference") return open_reference_backend();
  if (wanted == "cuda") return open_cuda_backend();
#ifdef DET_HAS_ONEDNN
  if (wanted == "onednn") return open_onednn_backend(threads);
#else
  if (wanted == "onednn")
    throw Error(Code::unsupported,
                "opening the back end 'onednn': this library was built without oneDNN; "
                "'reference' computes the same");
#endif
  throw Error(Code::invalid, "opening the back end '" + wanted + "'" +
                                 (name.empty() ? ", which DETNN_BACKEND names" : "") +
                                 ": unknown name" +
                                 suggestion(wanted, {"onednn", "reference", "cuda"}));
}

}  // namespace det::nn
