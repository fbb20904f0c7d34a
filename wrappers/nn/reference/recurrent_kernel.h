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
        first_extra_(operands.inputs.size() - op.extras.inputs()),
        sums_(batch_ * steps_ * width_),
        zeros_(batch_ * units_),
        state_gradient_(batch_ * units_),
        of_x_({batch_, steps_, features_, units_, gates()}, op.dropout.of_x),
        of_state_({batch_, 1, units_, units_, gates()}, op.dropout.of_states) {
    if (operands.has_gradients()) sums_gradient_.resize(sums_.size());
    if (!op.extras) return;
    own_states_.resize(batch_ * steps_ * units_);
    given_.resize(batch_ * units_);
  }

  void forward() override {
    const float *bias = has_bias() ? this->input(3).data() : nullptr;
    for (size_t row = 0; row < batch_ * steps_; ++row)
      for (size_t i = 0; i < width_; ++i) sums_[row * width_ + i] = bias ? bias[i] : 0;
    if (this->op_.dropout) draw();
    of_x_.add(x(this->input(0)), kernel(this->input(1)), all(sums_));
    for (size_t step = 0; step < steps_; ++step) {
      forward_cell(step);
      if (this->op_.extras.has_mask) keep_masked(step);
      if (this->op_.extras) write_output(step);
    }
    copy_last(states(), 1);
  }

  void backward() override {
    for (size_t i = 1; i < this->inputs(); ++i)
      if (const Array &gradient = this->input_gradient(i))
        std::fill_n(gradient.data(), gradient.size(), 0.0F);
    begin_backward();
    const auto last = this->output_gradient(1).elements();
    std::copy(last.begin(), last.end(), state_gradient_.begin());
    std::fill(given_.begin(), given_.end(), 0.0F);
    for (size_t step = steps_; step-- > 0;) {
      for (size_t record = 0; record < batch_; ++record) {
        const float *given = this->output_gradient().data() + (record * steps_ + step) * units_;
        if (this->op_.extras) {
          take_given(record, step, given);
          continue;
        }
        float *sum = state_gradient_.data() + record * units_;
        for (size_t unit = 0; unit < units_; ++unit) sum[unit] += given[unit];
      }
      const auto kept = take_masked(step);
      backward_cell(step);
      put_masked_back(kept);
    }
    write_state_gradients();
    const Matrix sums = all(sums_gradient_);
    if (const Array &dx = this->input_gradient(0)) {
      std::fill_n(dx.data(), dx.size(), 0.0F);
      of_x_.add_to_rows(sums, kernel(this->input(1)), x(dx));
    }
    if (const Array &dkernel = this->input_gradient(1))
      of_x_.add_to_kernel(x(this->input(0)), sums, kernel(dkernel));
    if (has_bias() && this->input_gradient(3))
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
    if (step > 0) return state_at(states, step - 1);
    if (this->op_.extras.states == 0) return matrix(zeros_.data(), batch_, units_);
    return matrix(this->input(first_state() + (states == this->states() ? 0 : 1)).data(), batch_,
                  units_);
  }
  // What comes out, unless that is another thing under a mask.
  float *states() { return this->op_.extras ? own_states_.data() : this->output().data(); }
  bool has_bias() const { return first_extra_ == 4; }
  // Of each kind all states, and what their gradient is computed in, in the order in which they
  // come in and go out.
  struct Kind {
    float *states;
    std::vector<float> *gradient;
  };
  virtual std::vector<Kind> kinds() { return {{states(), &state_gradient_}}; }
  void copy_last(float *states, size_t output) {
    const Matrix last = state_at(states, steps_ - 1);
    for (size_t record = 0; record < batch_; ++record)
      std::copy_n(last.row(record), units_, this->output(output).data() + record * units_);
  }
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

  const size_t batch_, steps_, features_, units_, width_, first_extra_;
  std::vector<float> sums_, sums_gradient_;  // (batch, steps, gates * units)
  std::vector<float> zeros_, state_gradient_;
  GateProduct of_x_, of_state_;

 private:
  size_t first_state() const { return first_extra_ + (this->op_.extras.has_mask ? 1 : 0); }
  bool counts(size_t record, size_t step) const {
    if (!this->op_.extras.has_mask) return true;
    const size_t time = this->op_.goes_backwards ? steps_ - 1 - step : step;
    return this->input(first_extra_).data()[record * steps_ + time] != 0;
  }
  void keep_masked(size_t step) {
    for (const Kind &kind : kinds())
      for (size_t record = 0; record < batch_; ++record)
        if (!counts(record, step))
          std::copy_n(state_before(kind.states, step).row(record), units_,
                      state_at(kind.states, step).row(record));
  }
  void write_output(size_t step) {
    for (size_t record = 0; record < batch_; ++record) {
      float *y = this->output().data() + (record * steps_ + step) * units_;
      if (counts(record, step)) std::copy_n(state_at(states(), step).row(record), units_, y);
      else if (step == 0 || this->op_.extras.zeroes_masked) std::fill_n(y, units_, 0.0F);
      else std::copy_n(y - units_, units_, y);
    }
  }
  // The gradient of what comes out belongs to the last state before that counted.
  void take_given(size_t record, size_t step, const float *given) {
    float *waiting = given_.data() + record * units_;
    float *sum = state_gradient_.data() + record * units_;
    const bool counted = counts(record, step);
    for (size_t unit = 0; unit < units_; ++unit) {
      waiting[unit] += given[unit];
      if (counted) sum[unit] += waiting[unit];
      if (counted || this->op_.extras.zeroes_masked) waiting[unit] = 0;
    }
  }
  struct Kept {
    std::vector<float> *gradient;
    size_t record;
    std::vector<float> values;
  };
  // States of records that do not count go past the cell.
  std::vector<Kept> take_masked(size_t step) {
    std::vector<Kept> kept;
    if (!this->op_.extras.has_mask) return kept;
    for (const Kind &kind : kinds())
      for (size_t record = 0; record < batch_; ++record) {
        if (counts(record, step)) continue;
        const auto row = kind.gradient->begin() + static_cast<std::ptrdiff_t>(record * units_);
        kept.push_back({kind.gradient, record, {row, row + static_cast<std::ptrdiff_t>(units_)}});
        std::fill_n(row, units_, 0.0F);
      }
    return kept;
  }
  void put_masked_back(const std::vector<Kept> &kept) {
    for (const Kept &one : kept)
      std::copy(one.values.begin(), one.values.end(),
                one.gradient->begin() + static_cast<std::ptrdiff_t>(one.record * units_));
  }
  void write_state_gradients() {
    const std::vector<Kind> all = kinds();
    for (size_t i = 0; i < this->op_.extras.states; ++i)
      if (const Array &gradient = this->input_gradient(first_state() + i))
        std::copy(all[i].gradient->begin(), all[i].gradient->end(), gradient.data());
  }

  size_t gates() const { return width_ / std::max<size_t>(units_, 1); }
  void draw() {
    const Operands &operands = this->operands_;
    DropoutDraws draws(operands.state->seed, operands.stream, operands.state->step);
    of_x_.draw(draws, 0);
    of_state_.draw(draws, of_x_.draws());
  }

  std::vector<float> own_states_;  // (batch, steps, units)
  std::vector<float> given_;       // gradients of outputs, on their way to a step that counts

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
