#include "wrappers/nn/arithmetic/element_functions.h"
#include "wrappers/nn/cuda/cuda_kernels.h"
#include "wrappers/nn/cuda/gpu_loops.h"
#include "wrappers/nn/cuda/moves.h"
#include "wrappers/nn/cuda/rounded.h"
#include "wrappers/nn/cuda/sums.h"

namespace det::nn {

namespace {

class ActivationKernel : public CudaKernel<ActivationOp> {
 public:
  using CudaKernel::CudaKernel;

  void forward() override {
    const float *x = input(0).data();
    const Result y(operands_);
    const ActivationOp op = op_;
    for_each(*context_, output().size(),
             [=] DET_DEVICE(size_t i) { y.write(i, activate(op.activation, x[i], op.alpha)); });
  }

  void backward() override {
    const float *x = input(0).data();
    const float *y = output().data();
    const float *dy = output_gradient().data();
    float *dx = input_gradient(0).data();
    const ActivationOp op = op_;
    for_each(*context_, output().size(), [=] DET_DEVICE(size_t i) {
      dx[i] = dy[i] * derivative(op.activation, x[i], y[i], op.alpha);
    });
  }
};

class ReluKernel : public CudaKernel<ReluOp> {
 public:
  using CudaKernel::CudaKernel;

  void forward() override {
    const float *x = input(0).data();
    const Result y(operands_);
    const ReluOp op = op_;
    for_each(*context_, output().size(),
             [=] DET_DEVICE(size_t i) { y.write(i, op.activate(x[i])); });
  }

  void backward() override {
    const float *x = input(0).data();
    const float *dy = output_gradient().data();
    float *dx = input_gradient(0).data();
    const ReluOp op = op_;
    for_each(*context_, output().size(),
             [=] DET_DEVICE(size_t i) { dx[i] = dy[i] * op.derivative(x[i]); });
  }
};

class ScaleKernel : public CudaKernel<ScaleOp> {
 public:
  using CudaKernel::CudaKernel;

  void forward() override {
    const float *x = input(0).data();
    const Result y(operands_);
    const ScaleOp op = op_;
    for_each(*context_, output().size(),
             [=] DET_DEVICE(size_t i) { y.write(i, op.factor * x[i] + op.offset); });
  }

  void backward() override {
    const float *dy = output_gradient().data();
    float *dx = input_gradient(0).data();
    const float factor = op_.factor;
    for_each(*context_, output().size(), [=] DET_DEVICE(size_t i) { dx[i] = factor * dy[i]; });
  }
};

class SoftmaxKernel : public CudaKernel<SoftmaxOp> {
 public:
  SoftmaxKernel(const SoftmaxOp &op, const Operands &operands, const CudaContextPtr &context)
      : CudaKernel(op, operands, context),
        length_(static_cast<size_t>(output().shape().back())),
        rows_(output().size() / std::max<size_t>(length_, 1)) {}

  void forward() override {
    const float *all_x = input(0).data();
    float *all_y = output().data();
    const Result result(operands_);
    const size_t length = length_;
    const bool is_logarithm = op_.is_logarithm;
    for_each_row(*context_, rows_, length, [=] DET_DEVICE(const RowGroup &group, size_t row) {
      const float *x = all_x + row * length;
      float *y = all_y + row * length;
      const float largest = group.largest(length, [&](size_t i) { return x[i]; });
      const float sum = group.sum(length, [&](size_t i) { return y[i] = expf(x[i] - largest); });
      const float log_of_sum = logf(sum);
      group.each(length, [&](size_t i) {
        result.write(row * length + i, is_logarithm ? x[i] - largest - log_of_sum : y[i] / sum);
      });
    });
  }

  void backward() override {
    const float *all_y = output().data();
    const float *all_dy = output_gradient().data();
    float *all_dx = input_gradient(0).data();
    const size_t length = length_;
    const bool is_logarithm = op_.is_logarithm;
    for_each_row(*context_, rows_, length, [=] DET_DEVICE(const RowGroup &group, size_t row) {
      const float *y = all_y + row * length;
      const float *dy = all_dy + row * length;
      float *dx = all_dx + row * length;
      const float sum =
          group.sum(length, [&](size_t i) { return is_logarithm ? dy[i] : y[i] * dy[i]; });
      group.each(length, [&](size_t i) {
        dx[i] = is_logarithm ? dy[i] - expf(y[i]) * sum : y[i] * (dy[i] - sum);
      });
    });
  }

 private:
  const size_t length_, rows_;
};

class ReshapeKernel : public CudaKernel<ReshapeOp> {
 public:
  using CudaKernel::CudaKernel;

  void forward() override { copy(input(0), output()); }
  void backward() override { copy(output_gradient(), input_gradient(0)); }

 private:
  void copy(const Array &from, const Array &to) const {
    if (from.raw() != to.raw()) copy_all(*context_, from, to);
  }
};

class ArithmeticKernel : public CudaKernel<ArithmeticOp> {
 public:
  ArithmeticKernel(const ArithmeticOp &op, const Operands &operands, const CudaContextPtr &context)
      : CudaKernel(op, operands, context),
        sums_(*context, output().size() / std::max<size_t>(input(1).size(), 1), input(1).size()) {}

  void forward() override {
    const float *x = input(0).data();
    const float *y = input(1).data();
    const Result z(operands_);
    const size_t period = input(1).size();
    const Arithmetic arithmetic = op_.arithmetic;
    for_each(*context_, output().size(),
             [=] DET_DEVICE(size_t i) { z.write(i, joined(arithmetic, x[i], y[i % period])); });
  }

  void backward() override {
    const float *x = input(0).data();
    const float *y = input(1).data();
    const float *dz = output_gradient().data();
    const size_t period = input(1).size();
    const Arithmetic arithmetic = op_.arithmetic;
    if (float *dx = data_or_null(input_gradient(0)))
      for_each(*context_, output().size(), [=] DET_DEVICE(size_t i) {
        dx[i] = dz[i] * slope_of_first(arithmetic, x[i], y[i % period]);
      });
    // The second may have fewer elements: each is in several results.
    float *dy = data_or_null(input_gradient(1));
    if (dy == nullptr) return;
    sums_.run(
        [=] DET_DEVICE(size_t row, size_t column) {
          const size_t i = row * period + column;
          return dz[i] * slope_of_second(arithmetic, x[i], y[column]);
        },
        dy);
  }

 private:
  const ColumnSums sums_;
};

}  // namespace

std::unique_ptr<Kernel> cuda_kernel(const ActivationOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  return std::make_unique<ActivationKernel>(op, operands, context);
}

std::unique_ptr<Kernel> cuda_kernel(const ReluOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  return std::make_unique<ReluKernel>(op, operands, context);
}

std::unique_ptr<Kernel> cuda_kernel(const ScaleOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  return std::make_unique<ScaleKernel>(op, operands, context);
}

std::unique_ptr<Kernel> cuda_kernel(const SoftmaxOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  return std::make_unique<SoftmaxKernel>(op, operands, context);
}

std::unique_ptr<Kernel> cuda_kernel(const ReshapeOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  return std::make_unique<ReshapeKernel>(op, operands, context);
}

std::unique_ptr<Kernel> cuda_kernel(const ArithmeticOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  return std::make_unique<ArithmeticKernel>(op, operands, context);
}

namespace {

void round_all(const CudaContext &context, const Array &from, const Array &to, Dtype dtype) {
  const float *x = from.data();
  float *y = to.data();
  for_each(context, to.size(), [=] DET_DEVICE(size_t i) { y[i] = rounded(x[i], dtype); });
}

class RoundingKernel : public CudaKernel<RoundingOp> {
 public:
  using CudaKernel::CudaKernel;

  void forward() override { round_all(*context_, input(0), output(), op_.to); }
  void backward() override { round_all(*context_, output_gradient(), input_gradient(0), op_.to); }
};

}  // namespace

std::unique_ptr<Kernel> cuda_kernel(const RoundingOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  return std::make_unique<RoundingKernel>(op, operands, context);
}

}  // namespace det::nn
