// What the recurrent operations have in common: the way through time, forward and back.
#pragma once

#include <algorithm>

#include "wrappers/nn/reference/activation_functions.h"
#include "wrappers/nn/reference/gate_product.h"
#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

// The products of x with the kernel are made for all steps at once; then a cell goes from each
// state to the next. Back through time the cells say what their sums have as gradients, of which
// all else follows.
template <class Op>
class RecurrentKernel : public ReferenceKernel<Op> {
 public:
  RecurrentKernel(const Op &op, const Operands &operands)
      : ReferenceKernel<Op>(op, operands),
        batch_(size_of(operands.inputs[0], 0)),
        steps_(size_of(operands.inputs[0], 1)),
        features_(size_of(operands.inputs[0], 2)),
        units_(size_of(operands.inputs[2], 0)),
        width_(size_of(operands.inputs[2], 1)),
        sums_(batch_ * steps_ * width_),
        zeros_(batch_ * units_),
        state_gradient_(batch_ * units_),
        of_x_({batch_, steps_, features_, units_, gates()}, op.dropout.of_x),
        of_state_({batch_, 1, units_, units_, gates()}, op.dropout.of_states) {
    if (operands.has_gradients()) sums_gradient_.resize(sums_.size());
  }

  void forward() override {
    const float *bias = this->inputs() == 4 ? this->input(3).data() : nullptr;
    for (size_t row = 0; row < batch_ * steps_; ++row)
      for (size_t i = 0; i < width_; ++i) sums_[row * width_ + i] = bias ? bias[i] : 0;
    if (this->op_.dropout) draw();
    of_x_.add(x(this->input(0)), kernel(this->input(1)), all(sums_));
    for (size_t step = 0; step < steps_; ++step) forward_cell(step);
    for (size_t record = 0; record < batch_; ++record)
      std::copy_n(this->output().data() + (record * steps_ + steps_ - 1) * units_, units_,
                  this->output(1).data() + record * units_);
  }

  void backward() override {
    for (size_t i = 1; i < this->inputs(); ++i)
      if (const Array &gradient = this->input_gradient(i))
        std::fill_n(gradient.data(), gradient.size(), 0.0F);
    begin_backward();
    const auto last = this->output_gradient(1).elements();
    std::copy(last.begin(), last.end(), state_gradient_.begin());
    for (size_t step = steps_; step-- > 0;) {
      for (size_t record = 0; record < batch_; ++record) {
        const float *given = this->output_gradient().data() + (record * steps_ + step) * units_;
        float *sum = state_gradient_.data() + record * units_;
        for (size_t unit = 0; unit < units_; ++unit) sum[unit] += given[unit];
      }
      backward_cell(step);
    }
    const Matrix sums = all(sums_gradient_);
    if (const Array &dx = this->input_gradient(0)) {
      std::fill_n(dx.data(), dx.size(), 0.0F);
      of_x_.add_to_rows(sums, kernel(this->input(1)), x(dx));
    }
    if (const Array &dkernel = this->input_gradient(1))
      of_x_.add_to_kernel(x(this->input(0)), sums, kernel(dkernel));
    if (this->inputs() == 4 && this->input_gradient(3))
      add_rows(sums_gradient_, this->input_gradient(3).data());
  }

 protected:
  // From state_before(step) and the sums writes the state after it.
  virtual void forward_cell(size_t step) = 0;
  virtual void begin_backward() {}
  // From state_gradient_, of the state after the step, writes gradients of its sums, adds to that
  // of the recurrent kernel, and leaves in state_gradient_ that of the state before it.
  virtual void backward_cell(size_t step) = 0;

  // A row for each record. Of what goes with x, at the time that the step takes.
  Matrix sums_at(std::vector<float> &sums, size_t step) const {
    const size_t time = this->op_.goes_backwards ? steps_ - 1 - step : step;
    return {sums.data() + time * width_, batch_, width_, steps_ * width_};
  }
  // Of what goes with the states, (batch, steps, units).
  Matrix state_at(float *states, size_t step) const {
    return {states + step * units_, batch_, units_, steps_ * units_};
  }
  Matrix state_before(float *states, size_t step) {
    return step == 0 ? matrix(zeros_.data(), batch_, units_) : state_at(states, step - 1);
  }
  float *states() const { return this->output().data(); }
  Matrix recurrent() const { return matrix(this->input(2).data(), units_, width_); }
  Matrix recurrent_gradient() const {
    return matrix(this->input_gradient(2).data(), units_, width_);
  }
  Matrix state_gradient() { return matrix(state_gradient_.data(), batch_, units_); }

  // What the sums of a step make of the recurrent kernel and of the state before it.
  void pass_back(const Matrix &dsums, size_t step) {
    if (this->input_gradient(2))
      of_state_.add_to_kernel(state_before(states(), step), dsums, recurrent_gradient());
    std::fill(state_gradient_.begin(), state_gradient_.end(), 0.0F);
    of_state_.add_to_rows(dsums, recurrent(), state_gradient());
  }

  void add_rows(const std::vector<float> &rows, float *sum) const {
    for (size_t i = 0; i < rows.size(); ++i) sum[i % width_] += rows[i];
  }

  const size_t batch_, steps_, features_, units_, width_;
  std::vector<float> sums_, sums_gradient_;  // (batch, steps, gates * units)
  std::vector<float> zeros_, state_gradient_;
  GateProduct of_x_, of_state_;

 private:
  size_t gates() const { return width_ / std::max<size_t>(units_, 1); }
  void draw() {
    const Operands &operands = this->operands_;
    DropoutDraws draws(operands.state->seed, operands.stream, operands.state->step);
    of_x_.draw(draws, 0);
    of_state_.draw(draws, of_x_.draws());
  }

  static size_t size_of(const Array &array, size_t axis) {
    return static_cast<size_t>(array.shape()[axis]);
  }
  Matrix all(std::vector<float> &sums) const {
    return matrix(sums.data(), batch_ * steps_, width_);
  }
  Matrix x(const Array &array) const { return matrix(array.data(), batch_ * steps_, features_); }
  Matrix kernel(const Array &array) const { return matrix(array.data(), features_, width_); }
};

}  // namespace det::nn
