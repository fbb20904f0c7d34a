#include <algorithm>

#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

namespace {

// How far apart neighbours along each axis lie.
std::vector<size_t> strides_of(const Shape &shape) {
  std::vector<size_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * static_cast<size_t>(shape[i]);
  return strides;
}

// Visits all elements of y in order, each with the one of x that it comes from: `strides` of x for
// each axis of y.
template <class Visit>
void for_each_origin(const Shape &y, const std::vector<size_t> &strides, const Visit &visit) {
  const auto elements = static_cast<size_t>(elements_of(y));
  const std::vector<size_t> sizes = strides_of(y);
  for (size_t i = 0; i < elements; ++i) {
    size_t from = 0;
    for (size_t axis = 0; axis < y.size(); ++axis)
      from += i / sizes[axis] % static_cast<size_t>(y[axis]) * strides[axis];
    visit(i, from);
  }
}

// What comes from one place each, or from one place for several.
template <class Op>
class OriginKernel : public OperationKernel<Op> {
 public:
  OriginKernel(const Op &op, const Operands &operands, const std::vector<size_t> &strides)
      : OperationKernel<Op>(op, operands) {
    origins_.reserve(this->output().size());
    for_each_origin(this->output().shape(), strides,
                    [&](size_t, size_t from) { origins_.push_back(from); });
  }

  void forward() override {
    const float *x = this->input(0).data();
    float *y = this->output().data();
    for (size_t i = 0; i < origins_.size(); ++i) y[i] = x[origins_[i]];
  }

  void backward() override {
    const auto dx = this->input_gradient(0).elements();
    const float *dy = this->output_gradient().data();
    std::fill(dx.begin(), dx.end(), 0.0F);
    for (size_t i = 0; i < origins_.size(); ++i) dx[origins_[i]] += dy[i];
  }

 private:
  std::vector<size_t> origins_;
};

std::vector<size_t> transposed_strides(const TransposeOp &op, const Shape &x) {
  const std::vector<size_t> strides = strides_of(x);
  std::vector<size_t> moved;
  for (const size_t axis : op.permutation) moved.push_back(strides[axis]);
  return moved;
}

std::vector<size_t> repeated_strides(const Shape &x, const Shape &y) {
  std::vector<size_t> strides = strides_of(x);
  for (size_t i = 0; i < x.size(); ++i)
    if (x[i] != y[i]) strides[i] = 0;
  return strides;
}

// An array as blocks: what lies before an axis, along it, and after it.
struct Blocks {
  Blocks(const Shape &shape, size_t axis) : along(static_cast<size_t>(shape[axis])) {
    for (size_t i = 0; i < axis; ++i) before *= static_cast<size_t>(shape[i]);
    for (size_t i = axis + 1; i < shape.size(); ++i) after *= static_cast<size_t>(shape[i]);
  }
  size_t before = 1, along, after = 1;
};

class ConcatenateKernel : public OperationKernel<ConcatenateOp> {
 public:
  using OperationKernel::OperationKernel;

  void forward() override {
    for_each_part([&](size_t i, size_t part, size_t whole, size_t size) {
      std::copy_n(input(i).data() + part, size, output().data() + whole);
    });
  }

  void backward() override {
    for_each_part([&](size_t i, size_t part, size_t whole, size_t size) {
      if (const Array &dx = input_gradient(i))
        std::copy_n(output_gradient().data() + whole, size, dx.data() + part);
    });
  }

 private:
  template <class Visit>
  void for_each_part(const Visit &visit) const {
    const Blocks joined(output().shape(), op_.axis);
    size_t begin = 0;
    for (size_t i = 0; i < inputs(); ++i) {
      const Blocks one(input(i).shape(), op_.axis);
      const size_t size = one.along * one.after;
      for (size_t block = 0; block < one.before; ++block)
        visit(i, block * size, block * joined.along * joined.after + begin, size);
      begin += size;
    }
  }
};

class SliceKernel : public OperationKernel<SliceOp> {
 public:
  using OperationKernel::OperationKernel;

  void forward() override {
    for_each_part([&](size_t part, size_t whole, size_t size) {
      std::copy_n(input(0).data() + whole, size, output().data() + part);
    });
  }

  void backward() override {
    const auto dx = input_gradient(0).elements();
    std::fill(dx.begin(), dx.end(), 0.0F);
    for_each_part([&](size_t part, size_t whole, size_t size) {
      std::copy_n(output_gradient().data() + part, size, dx.data() + whole);
    });
  }

 private:
  template <class Visit>
  void for_each_part(const Visit &visit) const {
    const Blocks whole(input(0).shape(), op_.axis);
    const size_t size = static_cast<size_t>(op_.size) * whole.after;
    const size_t begin = static_cast<size_t>(op_.begin) * whole.after;
    for (size_t block = 0; block < whole.before; ++block)
      visit(block * size, block * whole.along * whole.after + begin, size);
  }
};

class ReverseKernel : public OperationKernel<ReverseOp> {
 public:
  using OperationKernel::OperationKernel;

  void forward() override { reverse(input(0), output()); }
  void backward() override { reverse(output_gradient(), input_gradient(0)); }

 private:
  void reverse(const Array &from, const Array &to) const {
    const Blocks blocks(from.shape(), op_.axis);
    for (size_t block = 0; block < blocks.before; ++block)
      for (size_t i = 0; i < blocks.along; ++i)
        std::copy_n(from.data() + (block * blocks.along + i) * blocks.after, blocks.after,
                    to.data() + ((block + 1) * blocks.along - 1 - i) * blocks.after);
  }
};

}  // namespace

std::unique_ptr<Kernel> reference_kernel(const TransposeOp &op, const Operands &operands) {
  return std::make_unique<OriginKernel<TransposeOp>>(
      op, operands, transposed_strides(op, operands.inputs.at(0).shape()));
}

std::unique_ptr<Kernel> reference_kernel(const BroadcastOp &op, const Operands &operands) {
  return std::make_unique<OriginKernel<BroadcastOp>>(
      op, operands, repeated_strides(operands.inputs.at(0).shape(), op.shape));
}

std::unique_ptr<Kernel> reference_kernel(const ConcatenateOp &op, const Operands &operands) {
  return std::make_unique<ConcatenateKernel>(op, operands);
}

std::unique_ptr<Kernel> reference_kernel(const SliceOp &op, const Operands &operands) {
  return std::make_unique<SliceKernel>(op, operands);
}

std::unique_ptr<Kernel> reference_kernel(const ReverseOp &op, const Operands &operands) {
  return std::make_unique<ReverseKernel>(op, operands);
}

}  // namespace det::nn
