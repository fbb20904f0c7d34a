#include "wrappers/nn/reference/recurrent_kernel.h"

namespace det::nn {

namespace {

// The products with the recurrent kernel are kept apart from those with the kernel: the reset gate
// stands between them.
class GruKernel : public RecurrentKernel<GruOp> {
 public:
  GruKernel(const GruOp &op, const Operands &operands)
      : RecurrentKernel(op, operands),
        recurrent_sums_(sums_.size()),
        recurrent_sums_gradient_(sums_gradient_.size()),
        gates_(sums_.size()),
        reset_state_(zeros_.size()),
        reset_state_gradient_(zeros_.size()) {}

  void backward() override {
    RecurrentKernel::backward();
    if (op_.resets_after && has_bias() && input_gradient(3))
      add_rows(recurrent_sums_gradient_, input_gradient(3).data() + width_);
  }

 private:
  // The gates in their order: update, reset, candidate.
  static constexpr size_t reset = 1, candidate = 2;

  void forward_cell(size_t step) override {
    const Matrix before = state_before(states(), step);
    const Matrix products = sums_at(recurrent_sums_, step);
    const float *bias = op_.resets_after && has_bias() ? input(3).data() + width_ : nullptr;
    for (size_t record = 0; record < batch_; ++record)
      for (size_t i = 0; i < width_; ++i) products.row(record)[i] = bias ? bias[i] : 0;
    if (op_.resets_after) of_state_.add(before, recurrent(), products);
    else of_state_.add(before, first_two(recurrent()), first_two(products));
    const Matrix gates = sums_at(gates_, step);
    for (size_t record = 0; record < batch_; ++record)
      for (size_t i = 0; i < candidate * units_; ++i)
        gates.row(record)[i] = activate(op_.recurrent_activation, gate_sum(step, record, i));
    if (!op_.resets_after) {
      write_reset_state(step);
      of_state_.add(reset_state(), last(recurrent()), last(products), candidate);
    }
    for (size_t record = 0; record < batch_; ++record) {
      float *gate = gates.row(record);
      float *state = state_at(states(), step).row(record);
      for (size_t u = 0; u < units_; ++u) {
        float &proposed = gate[candidate * units_ + u];
        proposed = activate(op_.activation, candidate_sum(step, record, u));
        state[u] = gate[u] * before.row(record)[u] + (1 - gate[u]) * proposed;
      }
    }
  }

  void backward_cell(size_t step) override {
    const Matrix before = state_before(states(), step);
    const Matrix gates = sums_at(gates_, step);
    const Matrix dsums = sums_at(sums_gradient_, step);
    const Matrix dproducts = sums_at(recurrent_sums_gradient_, step);
    for (size_t record = 0; record < batch_; ++record) {
      const float *gate = gates.row(record);
      float *dsum = dsums.row(record);
      float *dstate = state_gradient().row(record);
      for (size_t u = 0; u < units_; ++u) {
        const float proposed = gate[candidate * units_ + u];
        dsum[u] = dstate[u] * (before.row(record)[u] - proposed) * gate_slope(step, record, u);
        dsum[candidate * units_ + u] =
            dstate[u] * (1 - gate[u]) *
            derivative(op_.activation, candidate_sum(step, record, u), proposed);
        dstate[u] *= gate[u];
      }
    }
    if (!op_.resets_after) {
      std::fill(reset_state_gradient_.begin(), reset_state_gradient_.end(), 0.0F);
      of_state_.add_to_rows(last(dsums), last(recurrent()), reset_state_gradient(), candidate);
    }
    for (size_t record = 0; record < batch_; ++record) {
      const float *gate = gates.row(record);
      float *dsum = dsums.row(record);
      float *dproduct = dproducts.row(record);
      for (size_t u = 0; u < units_; ++u) {
        const size_t r = reset * units_ + u;
        const size_t c = candidate * units_ + u;
        const float dreset = op_.resets_after
                                 ? dsum[c] * sums_at(recurrent_sums_, step).row(record)[c]
                                 : reset_state_gradient().row(record)[u] * before.row(record)[u];
        dsum[r] = dreset * gate_slope(step, record, r);
        dproduct[u] = dsum[u];
        dproduct[r] = dsum[r];
        dproduct[c] = op_.resets_after ? dsum[c] * gate[r] : dsum[c];
        if (!op_.resets_after)
          state_gradient().row(record)[u] += reset_state_gradient().row(record)[u] * gate[r];
      }
    }
    const bool is_asked = static_cast<bool>(input_gradient(2));
    if (op_.resets_after) {
      of_state_.add_to_rows(dproducts, recurrent(), state_gradient());
      if (is_asked) of_state_.add_to_kernel(before, dproducts, recurrent_gradient());
      return;
    }
    of_state_.add_to_rows(first_two(dproducts), first_two(recurrent()), state_gradient());
    if (!is_asked) return;
    of_state_.add_to_kernel(before, first_two(dproducts), first_two(recurrent_gradient()));
    write_reset_state(step);
    of_state_.add_to_kernel(reset_state(), last(dproducts), last(recurrent_gradient()), candidate);
  }

  float gate_sum(size_t step, size_t record, size_t i) {
    return sums_at(sums_, step).row(record)[i] + sums_at(recurrent_sums_, step).row(record)[i];
  }
  float gate_slope(size_t step, size_t record, size_t i) {
    return derivative(op_.recurrent_activation, gate_sum(step, record, i),
                      sums_at(gates_, step).row(record)[i]);
  }
  float candidate_sum(size_t step, size_t record, size_t u) {
    const float by = op_.resets_after ? sums_at(gates_, step).row(record)[reset * units_ + u] : 1;
    const size_t i = candidate * units_ + u;
    return sums_at(sums_, step).row(record)[i] + by * sums_at(recurrent_sums_, step).row(record)[i];
  }

  Matrix first_two(const Matrix &all) const { return all.columns_from(0, candidate * units_); }
  Matrix last(const Matrix &all) const { return all.columns_from(candidate * units_, units_); }
  Matrix reset_state() { return matrix(reset_state_.data(), batch_, units_); }
  Matrix reset_state_gradient() { return matrix(reset_state_gradient_.data(), batch_, units_); }
  void write_reset_state(size_t step) {
    for (size_t record = 0; record < batch_; ++record)
      for (size_t u = 0; u < units_; ++u)
        reset_state().row(record)[u] = sums_at(gates_, step).row(record)[reset * units_ + u] *
                                       state_before(states(), step).row(record)[u];
  }

  std::vector<float> recurrent_sums_, recurrent_sums_gradient_, gates_;  // (batch, steps, width)
  std::vector<float> reset_state_, reset_state_gradient_;                // (batch, units)
};

}  // namespace

std::unique_ptr<Kernel> reference_kernel(const GruOp &op, const Operands &operands) {
  return std::make_unique<GruKernel>(op, operands);
}

}  // namespace det::nn
