#include "wrappers/nn/cuda/cuda_recurrent.h"
#include "wrappers/nn/reference/activation_functions.h"

namespace det::nn {

namespace {

// One unit of a record, and where its gates are in a row of them.
struct GruUnit {
  DET_HOST_DEVICE GruUnit(size_t i, size_t units)
      : record(i / units), update(i % units), reset(units + update), candidate(units + reset) {}

  size_t record, update, reset, candidate;
};

// What the cells of a step have of all records.
struct GruRows {
  StepRows sums, products, gates, before;
};

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
    const GruRows rows = rows_at(step);
    begin_products(rows.products);
    add_state(rows.products, step);
    const StepRows state = state_at(states(), step);
    const size_t units = sizes_.units;
    const GruOp op = op_;
    for_each(*context_, sizes_.batch * units, [=] DET_DEVICE(size_t i) {
      const auto [record, u, r, c] = GruUnit(i, units);
      const float *sum = rows.sums.of(record);
      const float *product = rows.products.of(record);
      float *gate = rows.gates.of(record);
      const float update = gate[u] = activate(op.recurrent_activation, sum[u] + product[u]);
      const float reset = gate[r] = activate(op.recurrent_activation, sum[r] + product[r]);
      const float proposed = gate[c] = activate(op.activation, sum[c] + reset * product[c]);
      state.of(record)[u] = update * rows.before.of(record)[u] + (1 - update) * proposed;
    });
  }

  void backward() override {
    CudaRecurrentKernel::backward();
    if (has_bias() && input_gradient(3))
      sum_rows(products_gradient_, input_gradient(3).data() + sizes_.width);
  }

  void backward_cell(size_t step) override {
    const GruRows rows = rows_at(step);
    const StepRows dsums = sums_at(sums_gradient_, step);
    const StepRows dproducts = sums_at(products_gradient_, step);
    float *dstates = state_gradient_.data();
    const size_t units = sizes_.units;
    const GruOp op = op_;
    for_each(*context_, sizes_.batch * units, [=] DET_DEVICE(size_t i) {
      const auto [record, u, r, c] = GruUnit(i, units);
      const float *sum = rows.sums.of(record);
      const float *product = rows.products.of(record);
      const float *gate = rows.gates.of(record);
      float *dsum = dsums.of(record);
      float *dproduct = dproducts.of(record);
      const float dstate = dstates[i];
      dsum[u] = dproduct[u] = dstate * (rows.before.of(record)[u] - gate[c]) *
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
  GruRows rows_at(size_t step) const {
    return {sums_at(sums_, step), sums_at(products_, step), sums_at(gates_, step),
            state_before(states(), step)};
  }

  const Array products_, products_gradient_, gates_;  // (batch, steps, width)
};

}  // namespace

std::unique_ptr<Kernel> cuda_kernel(const GruOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  if (op.extras || !op.resets_after || RecurrentSizes(operands).is_empty()) return nullptr;
  return std::make_unique<GruKernel>(op, operands, context);
}

}  // namespace det::nn
