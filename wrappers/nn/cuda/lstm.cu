#include "wrappers/nn/cuda/cuda_recurrent.h"
#include "wrappers/nn/reference/activation_functions.h"

namespace det::nn {

namespace {

class SimpleRnnKernel : public CudaRecurrentKernel<SimpleRnnOp> {
 public:
  using CudaRecurrentKernel::CudaRecurrentKernel;

  void forward_cell(size_t step) override {
    const StepRows sums = sums_at(sums_, step);
    add_state(sums, step);
    const StepRows state = state_at(states(), step);
    const size_t units = sizes_.units;
    const Activation activation = op_.activation;
    for_each(*context_, sizes_.batch * units, [=] DET_DEVICE(size_t i) {
      state.of(i / units)[i % units] = activate(activation, sums.of(i / units)[i % units]);
    });
  }

  void backward_cell(size_t step) override {
    const StepRows sums = sums_at(sums_, step);
    const StepRows dsums = sums_at(sums_gradient_, step);
    const StepRows state = state_at(states(), step);
    const float *dstate = state_gradient_.data();
    const size_t units = sizes_.units;
    const Activation activation = op_.activation;
    for_each(*context_, sizes_.batch * units, [=] DET_DEVICE(size_t i) {
      const size_t record = i / units;
      const size_t u = i % units;
      dsums.of(record)[u] =
          dstate[i] * derivative(activation, sums.of(record)[u], state.of(record)[u]);
    });
    pass_back(dsums, step);
  }
};

// What the cells of a step have of all records.
struct LstmRows {
  StepRows sums, gates, before, cells, activated;
};

// The gates of a record lie side by side: input, forget, cell, output.
class LstmKernel : public CudaRecurrentKernel<LstmOp> {
 public:
  LstmKernel(const LstmOp &op, const Operands &operands, const CudaContextPtr &context)
      : CudaRecurrentKernel(op, operands, context),
        gates_(scratch(elements_of_sums())),
        cells_(scratch(output().size())),
        activated_cells_(scratch(output().size())),
        cell_gradient_(scratch(sizes_.batch * sizes_.units)) {}

  void forward() override {
    CudaRecurrentKernel::forward();
    copy_last(state_at(cells_.data(), sizes_.steps - 1), output(2));
  }

  void forward_cell(size_t step) override {
    const LstmRows rows = rows_at(step);
    add_state(rows.sums, step);
    const StepRows state = state_at(states(), step);
    const size_t units = sizes_.units;
    const LstmOp op = op_;
    for_each(*context_, sizes_.batch * units, [=] DET_DEVICE(size_t i) {
      const size_t record = i / units;
      const size_t u = i % units;
      const float *sum = rows.sums.of(record);
      float *gate = rows.gates.of(record);
      const float in = gate[u] = activate(op.recurrent_activation, sum[u]);
      const float forget = gate[units + u] = activate(op.recurrent_activation, sum[units + u]);
      const float proposed = gate[2 * units + u] = activate(op.activation, sum[2 * units + u]);
      const float out = gate[3 * units + u] = activate(op.recurrent_activation, sum[3 * units + u]);
      const float cell = forget * rows.before.of(record)[u] + in * proposed;
      rows.cells.of(record)[u] = cell;
      const float shown = activate(op.activation, cell);
      rows.activated.of(record)[u] = shown;
      state.of(record)[u] = out * shown;
    });
  }

  void begin_backward() override { copy_all(*context_, output_gradient(2), cell_gradient_); }

  void backward_cell(size_t step) override {
    const LstmRows rows = rows_at(step);
    const StepRows dsums = sums_at(sums_gradient_, step);
    const float *dstate = state_gradient_.data();
    float *dcells = cell_gradient_.data();
    const size_t units = sizes_.units;
    const LstmOp op = op_;
    for_each(*context_, sizes_.batch * units, [=] DET_DEVICE(size_t i) {
      const size_t record = i / units;
      const size_t u = i % units;
      const float *sum = rows.sums.of(record);
      const float *gate = rows.gates.of(record);
      float *dsum = dsums.of(record);
      const auto slope = [&](size_t at) {
        return derivative(op.recurrent_activation, sum[at], gate[at]);
      };
      const float shown = rows.activated.of(record)[u];
      const float dcell =
          dcells[i] + dstate[i] * gate[3 * units + u] *
                          derivative(op.activation, rows.cells.of(record)[u], shown);
      dsum[u] = dcell * gate[2 * units + u] * slope(u);
      dsum[units + u] = dcell * rows.before.of(record)[u] * slope(units + u);
      dsum[2 * units + u] =
          dcell * gate[u] * derivative(op.activation, sum[2 * units + u], gate[2 * units + u]);
      dsum[3 * units + u] = dstate[i] * shown * slope(3 * units + u);
      dcells[i] = dcell * gate[units + u];
    });
    pass_back(dsums, step);
  }

 private:
  LstmRows rows_at(size_t step) const {
    return {sums_at(sums_, step), sums_at(gates_, step), state_before(cells_.data(), step),
            state_at(cells_.data(), step), state_at(activated_cells_.data(), step)};
  }

  const Array gates_;                    // (batch, steps, 4 * units)
  const Array cells_, activated_cells_;  // (batch, steps, units)
  const Array cell_gradient_;            // (batch, units)
};

}  // namespace

std::unique_ptr<Kernel> cuda_kernel(const SimpleRnnOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  if (op.extras || RecurrentSizes(operands).is_empty()) return nullptr;
  return std::make_unique<SimpleRnnKernel>(op, operands, context);
}

std::unique_ptr<Kernel> cuda_kernel(const LstmOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  if (op.extras || RecurrentSizes(operands).is_empty()) return nullptr;
  return std::make_unique<LstmKernel>(op, operands, context);
}

}  // namespace det::nn
