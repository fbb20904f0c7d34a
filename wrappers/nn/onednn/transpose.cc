// Axes in another order, of which the last ones stay where they are: blocks are moved as a whole.
#include <algorithm>

#include "wrappers/nn/onednn/onednn_kernels.h"
#include "wrappers/nn/onednn/shares.h"
#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

namespace {

// How many of the last axes stay.
size_t axes_that_stay(const TransposeOp &op) {
  size_t stay = 0;
  const size_t axes = op.permutation.size();
  while (stay < axes && op.permutation[axes - 1 - stay] == axes - 1 - stay) ++stay;
  return stay;
}

class VectorisedTranspose : public OperationKernel<TransposeOp> {
 public:
  VectorisedTranspose(const TransposeOp &op, const Operands &operands, const OnednnContext &context)
      : OperationKernel(op, operands), shares_(shares_of(context, output().size())) {
    const Shape &x = input(0).shape();
    const size_t moved = x.size() - axes_that_stay(op);
    for (size_t axis = moved; axis < x.size(); ++axis) block_ *= static_cast<size_t>(x[axis]);
    std::vector<size_t> strides(moved, block_);
    for (size_t axis = moved; axis-- > 1;)
      strides[axis - 1] = strides[axis] * static_cast<size_t>(x[axis]);
    // Counts through the axes of y, the last one first.
    std::vector<int64_t> at(moved, 0);
    for (size_t block = output().size() / block_; block > 0; --block) {
      size_t from = 0;
      for (size_t axis = 0; axis < moved; ++axis)
        from += static_cast<size_t>(at[axis]) * strides[op.permutation[axis]];
      origins_.push_back(from);
      for (size_t axis = moved; axis-- > 0 && ++at[axis] == output().shape()[axis];) at[axis] = 0;
    }
  }

  void forward() override {
    const float *x = input(0).data();
    float *y = output().data();
    for_each_block([&](size_t at, size_t origin) { std::copy_n(x + origin, block_, y + at); });
  }

  void backward() override {
    float *dx = input_gradient(0).data();
    const float *dy = output_gradient().data();
    for_each_block([&](size_t at, size_t origin) { std::copy_n(dy + at, block_, dx + origin); });
  }

 private:
  // visit(where a block begins in y, where in x)
  template <class Visit>
  void for_each_block(const Visit &visit) const {
    for_each_share(shares_, origins_.size(), [&](size_t, size_t first, size_t end) {
      for (size_t block = first; block < end; ++block) visit(block * block_, origins_[block]);
    });
  }

  const size_t shares_;
  size_t block_ = 1;
  std::vector<size_t> origins_;  // of each block of y, in x
};

}  // namespace

std::unique_ptr<Kernel> onednn_kernel(const TransposeOp &op, const Operands &operands,
                                      const OnednnContextPtr &context) {
  if (axes_that_stay(op) == 0 || operands.outputs.at(0).size() == 0) return nullptr;
  return std::make_unique<VectorisedTranspose>(op, operands, *context);
}

}  // namespace det::nn
