#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

namespace {

class ReferenceBackend : public Backend {
 public:
  const char *name() const override { return "reference"; }
  std::unique_ptr<Kernel> make(const Operation &operation, const Operands &operands) override {
    return make_reference_kernel(operation, operands);
  }
};

}  // namespace

std::unique_ptr<Kernel> make_reference_kernel(const Operation &operation,
                                              const Operands &operands) {
  return std::visit([&](const auto &op) { return reference_kernel(op, operands); }, operation);
}

std::shared_ptr<Backend> open_reference_backend() { return std::make_shared<ReferenceBackend>(); }

}  // namespace det::nn
