#include "wrappers/nn/reference/recurrent_kernel.h"

namespace det::nn {

namespace {

class SimpleRnnKernel : public RecurrentKernel<SimpleRnnOp> {
 public:
  using RecurrentKernel::RecurrentKernel;

 private:
  void forward_cell(size_t step) override {
    const Matrix sums = sums_at(sums_, step);
    of_state_.add(state_before(states(), step), recurrent(), sums);
    const Matrix state = state_at(states(), step);
    for (size_t record = 0; record < batch_; ++record)
      for (size_t unit = 0; unit < units_; ++unit)
        state.row(record)[unit] = activate(op_.activation, sums.row(record)[unit]);
  }

  void backward_cell(size_t step) override {
    const Matrix sums = sums_at(sums_, step);
    const Matrix dsums = sums_at(sums_gradient_, step);
    const Matrix state = state_at(states(), step);
    for (size_t record = 0; record < batch_; ++record)
      for (size_t unit = 0; unit < units_; ++unit)
        dsums.row(record)[unit] =
            state_gradient().row(record)[unit] *
            derivative(op_.activation, sums.row(record)[unit], state.row(record)[unit]);
    pass_back(dsums, step);
  }
};

class LstmKernel : public RecurrentKernel<LstmOp> {
 public:
  LstmKernel(const LstmOp &op, const Operands &operands)
      : RecurrentKernel(op, operands),
        gates_(sums_.size()),
        cells_(output().size()),
        activated_cells_(output().size()),
        cell_gradient_(zeros_.size()) {}

  void forward() override {
    RecurrentKernel::forward();
    copy_last(cells_.data(), 2);
  }

 private:
  void forward_cell(size_t step) override {
    const Matrix sums = sums_at(sums_, step);
    of_state_.add(state_before(states(), step), recurrent(), sums);
    for (size_t record = 0; record < batch_; ++record) {
      const float *sum = sums.row(record);
      const Gates gate(sums_at(gates_, step).row(record), units_);
      const float *before = state_before(cells_.data(), step).row(record);
      float *cell = state_at(cells_.data(), step).row(record);
      float *activated = state_at(activated_cells_.data(), step).row(record);
      float *state = state_at(states(), step).row(record);
      for (size_t u = 0; u < units_; ++u) {
        gate.input[u] = activate(op_.recurrent_activation, sum[u]);
        gate.forget[u] = activate(op_.recurrent_activation, sum[units_ + u]);
        gate.cell[u] = activate(op_.activation, sum[2 * units_ + u]);
        gate.output[u] = activate(op_.recurrent_activation, sum[3 * units_ + u]);
        cell[u] = gate.forget[u] * before[u] + gate.input[u] * gate.cell[u];
        activated[u] = activate(op_.activation, cell[u]);
        state[u] = gate.output[u] * activated[u];
      }
    }
  }

  std::vector<Kind> kinds() override {
    return {{states(), &state_gradient_}, {cells_.data(), &cell_gradient_}};
  }

  void begin_backward() override {
    const auto last = output_gradient(2).elements();
    std::copy(last.begin(), last.end(), cell_gradient_.begin());
  }

  void backward_cell(size_t step) override {
    for (size_t record = 0; record < batch_; ++record) {
      const float *sum = sums_at(sums_, step).row(record);
      const Gates gate(sums_at(gates_, step).row(record), units_);
      const float *before = state_before(cells_.data(), step).row(record);
      const float *cell = state_at(cells_.data(), step).row(record);
      const float *activated = state_at(activated_cells_.data(), step).row(record);
      const float *dstate = state_gradient().row(record);
      float *dcell = cell_gradient_.data() + record * units_;
      const Gates dsum(sums_at(sums_gradient_, step).row(record), units_);
      const auto slope = [&](size_t i, float y) {
        return derivative(op_.recurrent_activation, sum[i], y);
      };
      for (size_t u = 0; u < units_; ++u) {
        dcell[u] += dstate[u] * gate.output[u] * derivative(op_.activation, cell[u], activated[u]);
        dsum.input[u] = dcell[u] * gate.cell[u] * slope(u, gate.input[u]);
        dsum.forget[u] = dcell[u] * before[u] * slope(units_ + u, gate.forget[u]);
        dsum.cell[u] = dcell[u] * gate.input[u] *
                       derivative(op_.activation, sum[2 * units_ + u], gate.cell[u]);
        dsum.output[u] = dstate[u] * activated[u] * slope(3 * units_ + u, gate.output[u]);
        dcell[u] *= gate.forget[u];
      }
    }
    pass_back(sums_at(sums_gradient_, step), step);
  }

  struct Gates {
    Gates(float *all, size_t units)
        : input(all), forget(all + units), cell(all + 2 * units), output(all + 3 * units) {}
    float *input, *forget, *cell, *output;
  };

  std::vector<float> gates_;                    // (batch, steps, 4 * units)
  std::vector<float> cells_, activated_cells_;  // (batch, steps, units)
  std::vector<float> cell_gradient_;            // (batch, units)
};

}  // namespace

std::unique_ptr<Kernel> reference_kernel(const SimpleRnnOp &op, const Operands &operands) {
  return std::make_unique<SimpleRnnKernel>(op, operands);
}

std::unique_ptr<Kernel> reference_kernel(const LstmOp &op, const Operands &operands) {
  return std::make_unique<LstmKernel>(op, operands);
}

}  // namespace det::nn
