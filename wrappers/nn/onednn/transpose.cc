// Axes in another order: arrays in one layout of oneDNN that are copied into another.
#include "wrappers/nn/onednn/onednn_kernels.h"

namespace det::nn {

namespace {

// As many axes as oneDNN takes.
constexpr size_t most_moved_axes = 6;

class OnednnTranspose : public OperationKernel<TransposeOp> {
 public:
  OnednnTranspose(const TransposeOp &op, const Operands &operands, const OnednnContextPtr &context)
      : OperationKernel(op, operands),
        forward_(reordering(context, row_major(input(0).shape()), input(0).raw(), seen_as_x(),
                            output().raw())) {
    if (input_gradient(0))
      backward_.emplace(reordering(context, seen_as_x(), output_gradient().raw(),
                                   row_major(input(0).shape()), input_gradient(0).raw()));
  }

  void forward() override { forward_.run(); }
  void backward() override { backward_->run(); }

 private:
  // y, with its axes in the order of those of x.
  MemoryDesc seen_as_x() const {
    const Shape &x = input(0).shape();
    dnnl::memory::dims strides(x.size());
    int64_t stride = 1;
    for (size_t axis = x.size(); axis-- > 0;) {
      strides[op_.permutation[axis]] = stride;
      stride *= x[op_.permutation[axis]];
    }
    return {x, dnnl::memory::data_type::f32, strides};
  }

  const OnednnPrimitive forward_;
  std::optional<OnednnPrimitive> backward_;
};

}  // namespace

std::unique_ptr<Kernel> onednn_kernel(const TransposeOp &op, const Operands &operands,
                                      const OnednnContextPtr &context) {
  if (op.permutation.size() > most_moved_axes || operands.outputs.at(0).size() == 0) return nullptr;
  return std::make_unique<OnednnTranspose>(op, operands, context);
}

}  // namespace det::nn
