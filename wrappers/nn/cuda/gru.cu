#include "wrappers/nn/cuda/cuda_recurrent.h"
#include "wrappers/nn/reference/activation_functions.h"

namespace det::nn {

namespace {

// The gates in their order: update, reset, candidate. The products with the recurrent kernel are
// kept apart from those with the kernel: the reset gate stands between them.
class GruKernel : public CudaRecurrentKernel<GruOp> {
 public:
  GruKernel(const GruOp &op, const Operands &operands, const CudaContextPtr &context)
      : CudaRecurrentKernel(op, operands, context),
        products_(scratch(elements_of_sums())),
        products_gradient_(scratch(operands.has_gradients() ? elements_of_sums() : 1)),
        gates_(scratch(elements_of_sums())) {}

  void forward_cell(size_t step) override {
    const StepRows sums = sums_at(sums_, step);
    const StepRows products = sums_at(products_, step);
    begin_products(products);
    add_state(products, step);
    const StepRows gates = sums_at(gates_, step);
    const StepRows before = state_before(states(), step);
    const StepRows state = state_at(states(), step);
    const size_t units = sizes_.units;
    const GruOp op = op_;
    for_each(*context_, sizes_.batch * units, [=] DET_DEVICE(size_t i) {
      const size_t record = i / units;
      const size_t u = i % units;
      const size_t r = units + u;
      const size_t c = 2 * units + u;
      const float *sum = sums.of(record);
      const float *product = products.of(record);
      float *gate = gates.of(record);
      const float update = gate[u] = activate(op.recurrent_activation, sum[u] + product[u]);
      const float reset = gate[r] = activate(op.recurrent_activation, sum[r] + product[r]);
      const float proposed = gate[c] = activate(op.activation, sum[c] + reset * product[c]);
      state.of(record)[u] = update * before.of(record)[u] + (1 - update) * proposed;
    });
  }

  void backward() override {
    CudaRecurrentKernel::backward();
    if (has_bias() && input_gradient(3))
      sum_rows(products_gradient_, input_gradient(3).data() + sizes_.width);
  }

  void backward_cell(size_t step) override {
    const StepRows sums = sums_at(sums_, step);
    const StepRows products = sums_at(products_, step);
    const StepRows dsums = sums_at(sums_gradient_, step);
    const StepRows dproducts = sums_at(products_gradient_, step);
    const StepRows gates = sums_at(gates_, step);
    const StepRows before = state_before(states(), step);
    float *dstates = state_gradient_.data();
    const size_t units = sizes_.units;
    const GruOp op = op_;
    for_each(*context_, sizes_.batch * units, [=] DET_DEVICE(size_t i) {
      const size_t record = i / units;
      const size_t u = i % units;
      const size_t r = units + u;
      const size_t c = 2 * units + u;
      const float *sum = sums.of(record);
      const float *product = products.of(record);
      const float *gate = gates.of(record);
      float *dsum = dsums.of(record);
      float *dproduct = dproducts.of(record);
      const float dstate = dstates[i];
      dsum[u] = dproduct[u] = dstate * (before.of(record)[u] - gate[c]) *
                              derivative(op.recurrent_activation, sum[u] + product[u], gate[u]);
      dsum[c] = dstate * (1 - gate[u]) *
                derivative(op.activation, sum[c] + gate[r] * product[c], gate[c]);
      dproduct[c] = dsum[c] * gate[r];
      dsum[r] = dproduct[r] =
          dsum[c] * product[c] * derivative(op.recurrent_activation, sum[r] + product[r], gate[r]);
      dstates[i] = dstate * gate[u];
    });
    pass_back(dproducts, step, 1);
  }

  // The second bias, or nothing.
  void begin_products(const StepRows &products) const {
    const float *bias = has_bias() ? input(3).data() + sizes_.width : nullptr;
    const size_t width = sizes_.width;
    for_each(*context_, sizes_.batch * width, [=] DET_DEVICE(size_t i) {
      products.of(i / width)[i % width] = bias != nullptr ? bias[i % width] : 0;
    });
  }

 private:
  const Array products_, products_gradient_, gates_;  // (batch, steps, width)
};

}  // namespace

std::unique_ptr<Kernel> cuda_kernel(const GruOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  if (!op.resets_after || RecurrentSizes(operands).is_empty()) return nullptr;
  return std::make_unique<GruKernel>(op, operands, context);
}

}  // namespace det::nn
