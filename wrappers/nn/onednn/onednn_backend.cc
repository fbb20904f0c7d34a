#include "core/base/error.h"
#include "wrappers/nn/onednn/onednn_kernels.h"

namespace det::nn {

namespace {

class OnednnBackend : public Backend {
 public:
  explicit OnednnBackend(int threads) : context_(std::make_shared<OnednnContext>(threads)) {}

  const char *name() const override { return "onednn"; }

  std::unique_ptr<Kernel> make(const Operation &operation, const Operands &operands) override {
    const ThreadLimit limit(context_->threads);
    try {
      return std::visit([&](const auto &op) { return onednn_kernel(op, operands, context_); },
                        operation);
    } catch (const dnnl::error &e) {
      if (e.status == dnnl_unimplemented) return nullptr;
      throw Error(e.status == dnnl_out_of_memory ? Code::no_memory : Code::internal,
                  std::string("preparing an operation with oneDNN: ") + e.what());
    }
  }

 private:
  const OnednnContextPtr context_;
};

}  // namespace

std::shared_ptr<Backend> open_onednn_backend(int threads) {
  try {
    return std::make_shared<OnednnBackend>(threads);
  } catch (const dnnl::error &e) {
    throw Error(Code::unsupported, std::string("opening the back end 'onednn': ") + e.what() +
                                       "; 'reference' computes the same");
  }
}

}  // namespace det::nn
