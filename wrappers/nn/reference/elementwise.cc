#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/half.h"
#include "core/base/vectorised.h"
#include "wrappers/nn/arithmetic/element_functions.h"
#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

namespace {

class ActivationKernel : public OperationKernel<ActivationOp> {
 public:
  using OperationKernel::OperationKernel;

  void forward() override {
    const auto x = input(0).elements();
    const auto y = output().elements();
    for (size_t i = 0; i < x.size(); ++i) y[i] = activate(op_.activation, x[i], op_.alpha);
  }

  void backward() override {
    const auto x = input(0).elements();
    const auto y = output().elements();
    const auto dy = output_gradient().elements();
    const auto dx = input_gradient(0).elements();
    for (size_t i = 0; i < x.size(); ++i)
      dx[i] = dy[i] * derivative(op_.activation, x[i], y[i], op_.alpha);
  }
};

class ReluKernel : public OperationKernel<ReluOp> {
 public:
  using OperationKernel::OperationKernel;

  void forward() override {
    const auto x = input(0).elements();
    const auto y = output().elements();
    for (size_t i = 0; i < x.size(); ++i) y[i] = op_.activate(x[i]);
  }

  void backward() override {
    const auto x = input(0).elements();
    const auto dy = output_gradient().elements();
    const auto dx = input_gradient(0).elements();
    for (size_t i = 0; i < x.size(); ++i) dx[i] = dy[i] * op_.derivative(x[i]);
  }
};

class ScaleKernel : public OperationKernel<ScaleOp> {
 public:
  using OperationKernel::OperationKernel;

  void forward() override { scale(input(0), output(), op_.offset); }
  void backward() override { scale(output_gradient(), input_gradient(0), 0); }

 private:
  void scale(const Array &from, const Array &to, float offset) const {
    for (size_t i = 0; i < from.size(); ++i) to.data()[i] = op_.factor * from.data()[i] + offset;
  }
};

class SoftmaxKernel : public OperationKernel<SoftmaxOp> {
 public:
  using OperationKernel::OperationKernel;

  void forward() override {
    for_each_row([&](size_t begin, size_t length) {
      const float *x = input(0).data() + begin;
      float *y = output().data() + begin;
      const float largest = *std::max_element(x, x + length);
      float sum = 0;
      for (size_t i = 0; i < length; ++i) sum += y[i] = std::exp(x[i] - largest);
      const float log_of_sum = std::log(sum);
      for (size_t i = 0; i < length; ++i)
        y[i] = op_.is_logarithm ? x[i] - largest - log_of_sum : y[i] / sum;
    });
  }

  void backward() override {
    for_each_row([&](size_t begin, size_t length) {
      const float *y = output().data() + begin;
      const float *dy = output_gradient().data() + begin;
      float *dx = input_gradient(0).data() + begin;
      float sum = 0;
      for (size_t i = 0; i < length; ++i) sum += op_.is_logarithm ? dy[i] : y[i] * dy[i];
      for (size_t i = 0; i < length; ++i)
        dx[i] = op_.is_logarithm ? dy[i] - std::exp(y[i]) * sum : y[i] * (dy[i] - sum);
    });
  }

 private:
  template <class Visit>
  void for_each_row(const Visit &visit) const {
    const auto length = static_cast<size_t>(output().shape().back());
    for (size_t begin = 0; begin < output().size(); begin += length) visit(begin, length);
  }
};

class ReshapeKernel : public OperationKernel<ReshapeOp> {
 public:
  using OperationKernel::OperationKernel;

  void forward() override { copy(input(0), output()); }
  void backward() override { copy(output_gradient(), input_gradient(0)); }

 private:
  static void copy(const Array &from, const Array &to) {
    if (from.raw() != to.raw()) std::memcpy(to.raw(), from.raw(), from.bytes());
  }
};

class FunctionKernel : public OperationKernel<FunctionOp> {
 public:
  using OperationKernel::OperationKernel;

  void forward() override {
    if (op_.function == Function::whole) {
      for (size_t i = 0; i < input(0).size(); ++i)
        output().data<int32_t>()[i] = static_cast<int32_t>(x(i));
      return;
    }
    for (size_t i = 0; i < input(0).size(); ++i) output().data()[i] = value(x(i));
  }

  void backward() override {
    const Array &dx = input_gradient(0);
    for (size_t i = 0; dx && i < dx.size(); ++i)
      dx.data()[i] = slope(x(i)) * output_gradient().data()[i];
  }

 private:
  float x(size_t i) const {
    return input(0).dtype() == Dtype::i32 ? static_cast<float>(input(0).data<int32_t>()[i])
                                          : input(0).data()[i];
  }

  float value(float x) const {
    switch (op_.function) {
      case Function::absolute:
        return std::fabs(x);
      case Function::clip:
        return std::min(std::max(x, op_.a), op_.b);
      case Function::differs:
        return x != op_.a ? 1 : 0;
      case Function::logarithm:
        return std::log(x);
      case Function::power:
        return std::pow(x, op_.a);
      default:
        return x;
    }
  }

  float slope(float x) const {
    switch (op_.function) {
      case Function::absolute:
        return x > 0 ? 1 : x < 0 ? -1 : 0;
      case Function::clip:
        return x >= op_.a && x <= op_.b ? 1 : 0;
      case Function::differs:
        return 0;
      case Function::logarithm:
        return 1 / x;
      case Function::power:
        return op_.a == 0 ? 0 : op_.a * std::pow(x, op_.a - 1);
      default:
        return 1;
    }
  }
};

class ArithmeticKernel : public OperationKernel<ArithmeticOp> {
 public:
  using OperationKernel::OperationKernel;

  void forward() override {
    const auto x = input(0).elements();
    const auto y = input(1).elements();
    const auto z = output().elements();
    for_each([&](size_t i, size_t of_y) { z[i] = joined(op_.arithmetic, x[i], y[of_y]); });
  }

  void backward() override {
    const auto x = input(0).elements();
    const auto y = input(1).elements();
    const auto dz = output_gradient().elements();
    if (const Array &dx = input_gradient(0))
      for_each([&](size_t i, size_t of_y) {
        dx.data()[i] = dz[i] * slope_of_first(op_.arithmetic, x[i], y[of_y]);
      });
    if (const Array &dy = input_gradient(1)) {
      std::fill_n(dy.data(), dy.size(), 0.0F);
      for_each([&](size_t i, size_t of_y) {
        dy.data()[of_y] += dz[i] * slope_of_second(op_.arithmetic, x[i], y[of_y]);
      });
    }
  }

 private:
  // The second may have fewer elements: it is repeated.
  template <class Visit>
  void for_each(const Visit &visit) const {
    const size_t period = input(1).size();
    for (size_t begin = 0; begin < output().size(); begin += period)
      for (size_t i = 0; i < period; ++i) visit(begin + i, i);
  }
};

}  // namespace

std::unique_ptr<Kernel> reference_kernel(const ActivationOp &op, const Operands &operands) {
  return std::make_unique<ActivationKernel>(op, operands);
}

std::unique_ptr<Kernel> reference_kernel(const ReluOp &op, const Operands &operands) {
  return std::make_unique<ReluKernel>(op, operands);
}

std::unique_ptr<Kernel> reference_kernel(const ScaleOp &op, const Operands &operands) {
  return std::make_unique<ScaleKernel>(op, operands);
}

std::unique_ptr<Kernel> reference_kernel(const SoftmaxOp &op, const Operands &operands) {
  return std::make_unique<SoftmaxKernel>(op, operands);
}

std::unique_ptr<Kernel> reference_kernel(const ReshapeOp &op, const Operands &operands) {
  return std::make_unique<ReshapeKernel>(op, operands);
}

std::unique_ptr<Kernel> reference_kernel(const FunctionOp &op, const Operands &operands) {
  return std::make_unique<FunctionKernel>(op, operands);
}

std::unique_ptr<Kernel> reference_kernel(const ArithmeticOp &op, const Operands &operands) {
  return std::make_unique<ArithmeticKernel>(op, operands);
}

namespace {

DET_VECTORISED
void round_to_bf16(const float *from, float *to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = from_bf16(to_bf16(from[i]));
}

DET_VECTORISED
void round_to_half(const float *from, float *to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = from_half(to_half(from[i]));
}

class RoundingKernel : public OperationKernel<RoundingOp> {
 public:
  using OperationKernel::OperationKernel;

  void forward() override { round(input(0), output()); }
  void backward() override { round(output_gradient(), input_gradient(0)); }

 private:
  void round(const Array &from, const Array &to) const {
    const auto round_all = op_.to == Dtype::bf16 ? round_to_bf16 : round_to_half;
    round_all(from.data(), to.data(), to.size());
  }
};

}  // namespace

std::unique_ptr<Kernel> reference_kernel(const RoundingOp &op, const Operands &operands) {
  return std::make_unique<RoundingKernel>(op, operands);
}

}  // namespace det::nn
