// Sums of arrays, as wide as the processor's vectors: what is repeated, row by row. As quick as
// oneDNN's (tests/bench/bench_nn_products), which does not add up the gradient of what is repeated.
#include <algorithm>

#include "wrappers/nn/arithmetic/row_arithmetic.h"
#include "wrappers/nn/onednn/onednn_kernels.h"
#include "wrappers/nn/onednn/shares.h"
#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

namespace {

class VectorisedAddition : public OperationKernel<ArithmeticOp> {
 public:
  VectorisedAddition(const ArithmeticOp &op, const Operands &operands, const OnednnContext &context)
      : OperationKernel(op, operands),
        period_(input(1).size()),
        shares_(shares_of(context, output().size())) {}

  void forward() override {
    for_each_part([&](size_t begin, size_t of_second, size_t count) {
      set_sums(input(0).data() + begin, input(1).data() + of_second, output().data() + begin,
               count);
    });
  }

  void backward() override {
    const float *dz = output_gradient().data();
    if (const Array &dx = input_gradient(0))
      for_each_share(shares_, dx.size(), [&](size_t, size_t first, size_t end) {
        std::copy(dz + first, dz + end, dx.data() + first);
      });
    if (const Array &dy = input_gradient(1)) {
      for_each_share(shares_, period_, [&](size_t, size_t first, size_t end) {
        std::copy(dz + first, dz + end, dy.data() + first);
        for (size_t row = period_; row < output().size(); row += period_)
          add(dz + row + first, dy.data() + first, end - first);
      });
    }
  }

 private:
  // visit(where a part of the first and the result begins, where that of the second, its size)
  template <class Visit>
  void for_each_part(const Visit &visit) const {
    for_each_share(shares_, output().size(), [&](size_t, size_t first, size_t end) {
      for (size_t begin = first; begin < end;) {
        const size_t count = std::min(end - begin, period_ - begin % period_);
        visit(begin, begin % period_, count);
        begin += count;
      }
    });
  }

  const size_t period_, shares_;
};

}  // namespace

std::unique_ptr<Kernel> onednn_kernel(const ArithmeticOp &op, const Operands &operands,
                                      const OnednnContextPtr &context) {
  if (op.arithmetic != Arithmetic::add || operands.outputs.at(0).size() == 0) return nullptr;
  return std::make_unique<VectorisedAddition>(op, operands, *context);
}

}  // namespace det::nn
