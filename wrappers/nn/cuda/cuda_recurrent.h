// What the recurrent operations have in common on the GPU: the way through time, forward and back.
#pragma once

#include <optional>

#include "wrappers/nn/cuda/column_sums.h"
#include "wrappers/nn/cuda/cuda_kernels.h"
#include "wrappers/nn/cuda/device_step.h"
#include "wrappers/nn/cuda/gate_products.h"
#include "wrappers/nn/cuda/moves.h"

namespace det::nn {

struct RecurrentSizes {
  explicit RecurrentSizes(const Operands &operands)
      : batch(size_of(operands.inputs.at(0), 0)),
        steps(size_of(operands.inputs[0], 1)),
        features(size_of(operands.inputs[0], 2)),
        units(size_of(operands.inputs.at(2), 0)),
        width(size_of(operands.inputs[2], 1)) {}
  bool is_empty() const { return batch == 0 || steps == 0 || features == 0 || units == 0; }

  size_t batch, steps, features, units, width;

 private:
  static size_t size_of(const Array &array, size_t axis) {
    return static_cast<size_t>(array.shape().at(axis));
  }
};

// The products of x with the kernel are made for all steps at once; then a cell goes from each
// state to the next. Back through time the cells say what their sums have as gradients, of which
// all else follows. Each step is a product and a loop over (batch, units).
template <class Op>
class CudaRecurrentKernel : public CudaKernel<Op> {
 public:
  CudaRecurrentKernel(const Op &op, const Operands &operands, const CudaContextPtr &context)
      : CudaKernel<Op>(op, operands, context),
        sizes_(operands),
        sums_(this->scratch(elements_of_sums())),
        sums_gradient_(this->scratch(operands.has_gradients() ? elements_of_sums() : 1)),
        zeros_(this->scratch(sizes_.batch * sizes_.units)),
        state_gradient_(this->scratch(sizes_.batch * sizes_.units)),
        of_x_(context, {.rows = sizes_.batch * sizes_.steps,
                        .columns = sizes_.width,
                        .depth = sizes_.features,
                        .then = operands.inputs.size() == 4 ? ProductShape::Then::bias
                                                            : ProductShape::Then::nothing}),
        of_state_(context, {.rows = sizes_.batch,
                            .columns = sizes_.width,
                            .depth = sizes_.units,
                            .row_of_a = sizes_.steps * sizes_.units,
                            .row_of_c = sizes_.steps * sizes_.width,
                            .alignment = alignment_of({sizes_.units * sizeof(float)})}),
        to_x_(context, {.rows = sizes_.batch * sizes_.steps,
                        .columns = sizes_.features,
                        .depth = sizes_.width,
                        .transpose_b = true}),
        to_kernel_(context, {.rows = sizes_.features,
                             .columns = sizes_.width,
                             .depth = sizes_.batch * sizes_.steps,
                             .transpose_a = true}),
        to_state_(context, {.rows = sizes_.batch,
                            .columns = sizes_.units,
                            .depth = sizes_.width,
                            .transpose_b = true,
                            .row_of_a = sizes_.steps * sizes_.width,
                            .alignment = alignment_of({sizes_.units * sizeof(float)})}),
        to_recurrent_(context, {.rows = sizes_.units,
                                .columns = sizes_.width,
                                .depth = sizes_.batch,
                                .transpose_a = true,
                                .row_of_a = sizes_.steps * sizes_.units,
                                .row_of_b = sizes_.steps * sizes_.width,
                                .alignment = alignment_of({sizes_.units * sizeof(float)})}),
        of_bias_(*context, sizes_.batch * sizes_.steps, sizes_.width) {
    if (op.dropout) drawn_.emplace(*context);
    if (op.dropout.of_x > 0) make(kept_of_x_, sizes_of_x(), op.dropout.of_x);
    if (op.dropout.of_states > 0) make(kept_of_state_, sizes_of_state(), op.dropout.of_states);
  }

  void forward() override {
    const float *bias = has_bias() ? this->input(3).data() : nullptr;
    clear(*this->context_, zeros_);
    if (drawn_) draw();
    if (kept_of_x_) {
      if (bias != nullptr) repeat(bias);
      kept_of_x_->add(rows_of_x(this->input(0)), this->input(1).data(), sums_.data(),
                      bias != nullptr ? 1 : 0);
    } else {
      of_x_.run(this->input(0).data(), this->input(1).data(), sums_.data(), 1, 0, bias);
    }
    for (size_t step = 0; step < sizes_.steps; ++step) forward_cell(step);
    copy_last(state_at(states(), sizes_.steps - 1), this->output(1));
  }

  void backward() override {
    if (const Array &gradient = this->input_gradient(2)) clear(*this->context_, gradient);
    copy_all(*this->context_, this->output_gradient(1), state_gradient_);
    begin_backward();
    for (size_t step = sizes_.steps; step-- > 0;) {
      add_given_gradient(step);
      backward_cell(step);
    }
    const float *dsums = sums_gradient_.data();
    if (const Array &dx = this->input_gradient(0)) {
      if (kept_of_x_) kept_of_x_->pass_to_rows(dsums, this->input(1).data(), rows_of_x(dx), 0);
      else to_x_.run(dsums, this->input(1).data(), dx.data());
    }
    if (const Array &dkernel = this->input_gradient(1)) {
      if (kept_of_x_) clear(*this->context_, dkernel);
      if (kept_of_x_) kept_of_x_->add_to_kernel(rows_of_x(this->input(0)), dsums, dkernel.data());
      else to_kernel_.run(this->input(0).data(), dsums, dkernel.data());
    }
    if (has_bias() && this->input_gradient(3))
      sum_rows(sums_gradient_, this->input_gradient(3).data());
  }

  // state_gradient_ += what was given for the states after the step.
  void add_given_gradient(size_t step) const {
    float *sum = state_gradient_.data();
    const StepRows given = state_at(this->output_gradient().data(), step);
    const size_t units = sizes_.units;
    for_each(*this->context_, sizes_.batch * units,
             [=] DET_DEVICE(size_t i) { sum[i] += given.of(i / units)[i % units]; });
  }

  void copy_last(const StepRows &from, const Array &to) const {
    float *last = to.data();
    const size_t units = sizes_.units;
    for_each(*this->context_, sizes_.batch * units,
             [=] DET_DEVICE(size_t i) { last[i] = from.of(i / units)[i % units]; });
  }

  // sums_ = the bias of each column
  void repeat(const float *bias) const {
    float *sums = sums_.data();
    const size_t width = sizes_.width;
    for_each(*this->context_, sums_.size(),
             [=] DET_DEVICE(size_t i) { sums[i] = bias[i % width]; });
  }

  // Of (batch, steps, width).
  void sum_rows(const Array &rows, float *sums) const {
    const float *values = rows.data();
    const size_t width = sizes_.width;
    of_bias_.run([=] DET_DEVICE(size_t row, size_t i) { return values[row * width + i]; }, sums);
  }

 protected:
  // From state_before(step) and the sums writes the state after it.
  virtual void forward_cell(size_t step) = 0;
  virtual void begin_backward() {}
  // From state_gradient_, of the state after the step, writes gradients of its sums, adds to that
  // of the recurrent kernel, and leaves in state_gradient_ that of the state before it.
  virtual void backward_cell(size_t step) = 0;

  bool has_bias() const { return this->inputs() == 4; }
  float *states() const { return this->output().data(); }
  size_t elements_of_sums() const { return sizes_.batch * sizes_.steps * sizes_.width; }

  // Of what goes with x, at the time that the step takes.
  StepRows sums_at(const Array &sums, size_t step) const {
    const size_t time = this->op_.goes_backwards ? sizes_.steps - 1 - step : step;
    return {sums.data() + time * sizes_.width, sizes_.steps * sizes_.width};
  }
  // Of what goes with the states, (batch, steps, units).
  StepRows state_at(float *states, size_t step) const {
    return {states + step * sizes_.units, sizes_.steps * sizes_.units};
  }
  StepRows state_before(float *states, size_t step) const {
    // One row of zeros for all records.
    return step == 0 ? StepRows{zeros_.data(), 0} : state_at(states, step - 1);
  }

  // sums += the state before the step . the recurrent kernel; nothing comes from a state of zeros.
  void add_state(const StepRows &sums, size_t step, float beta = 1) const {
    if (step == 0) return;
    const StepRows before = state_before(states(), step);
    const float *kernel = this->input(2).data();
    if (kept_of_state_) kept_of_state_->add(before, kernel, sums.data, beta);
    else of_state_.run(before.data, kernel, sums.data, 1, beta);
  }
  // What the sums of a step make of the recurrent kernel and of the state before it; `beta`: of
  // what is in state_gradient_ already.
  void pass_back(const StepRows &dsums, size_t step, float beta = 0) const {
    if (step == 0) return;
    const StepRows before = state_before(states(), step);
    const float *kernel = this->input(2).data();
    if (float *drecurrent = this->data_or_null(this->input_gradient(2))) {
      if (kept_of_state_) kept_of_state_->add_to_kernel(before, dsums.data, drecurrent);
      else to_recurrent_.run(before.data, dsums.data, drecurrent, 1, 1);
    }
    const StepRows dstate{state_gradient_.data(), sizes_.units};
    if (kept_of_state_) kept_of_state_->pass_to_rows(dsums.data, kernel, dstate, beta);
    else to_state_.run(dsums.data, kernel, dstate.data, 1, beta);
  }

  const RecurrentSizes sizes_;
  const Array sums_, sums_gradient_;    // (batch, steps, gates * units)
  const Array zeros_, state_gradient_;  // (batch, units)

 private:
  using Kept = GateProducts::Sizes;

  size_t gates() const { return sizes_.width / sizes_.units; }
  Kept sizes_of_x() const {
    return {sizes_.batch, sizes_.steps, sizes_.features, sizes_.units, gates(), sizes_.width};
  }
  Kept sizes_of_state() const {
    return {sizes_.batch, 1, sizes_.units, sizes_.units, gates(), sizes_.steps * sizes_.width};
  }
  void make(std::optional<GateProducts> &products, const Kept &sizes, float rate) {
    products.emplace(this->context_, sizes, rate, this->scratch(GateProducts::draws(sizes)),
                     this->scratch(sizes.records * sizes.rows_of_record * sizes.depth));
  }
  void draw() const {
    drawn_->copy(*this->context_, this->operands_.state);
    const uint64_t stream = this->operands_.stream;
    if (kept_of_x_) kept_of_x_->draw(drawn_->get(), stream, 0);
    if (kept_of_state_)
      kept_of_state_->draw(drawn_->get(), stream, GateProducts::draws(sizes_of_x()));
  }
  StepRows rows_of_x(const Array &x) const { return {x.data(), sizes_.features}; }

  const Product of_x_, of_state_, to_x_, to_kernel_, to_state_, to_recurrent_;
  const ColumnSums of_bias_;
  // Where gates leave out something each.
  std::optional<DeviceStep> drawn_;
  std::optional<GateProducts> kept_of_x_, kept_of_state_;
};

}  // namespace det::nn
