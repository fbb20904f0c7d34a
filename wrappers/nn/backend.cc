#include "wrappers/nn/backend.h"

#include <algorithm>

#include "core/base/error.h"
#include "wrappers/nn/near_name.h"
#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

bool Operands::has_gradients() const {
  return std::any_of(input_gradients.begin(), input_gradients.end(),
                     [](const Array &gradient) { return static_cast<bool>(gradient); });
}

#ifdef DET_HAS_ONEDNN
std::shared_ptr<Backend> open_onednn_backend(int threads);  // onednn/

std::vector<const char *> backend_names() { return {"onednn", "reference"}; }
#else
std::vector<const char *> backend_names() { return {"reference"}; }
#endif

std::shared_ptr<Backend> open_backend(const std::string &name, [[maybe_unused]] int threads) {
  const std::string wanted = name.empty() ? backend_names().front() : name;
  if (wanted == "reference") return open_reference_backend();
#ifdef DET_HAS_ONEDNN
  if (wanted == "onednn") return open_onednn_backend(threads);
#else
  if (wanted == "onednn")
    throw Error(Code::unsupported,
                "opening the back end 'onednn': this library was built without oneDNN; "
                "'reference' computes the same");
#endif
  const auto names = backend_names();
  throw Error(Code::invalid, "opening the back end '" + name + "': there is none of this name" +
                                 suggestion(name, {names.begin(), names.end()}));
}

}  // namespace det::nn
