#include <algorithm>
#include <vector>

#include "wrappers/nn/arithmetic/element_functions.h"
#include "wrappers/nn/operations/operations.h"
#include "wrappers/nn/reference/matrix.h"
#include "wrappers/nn/reference/reference_kernels.h"

namespace det::nn {

// Products of rows with a kernel of several gates, for each of which other elements of the rows may
// be left out.

// Of rows of `depth` elements, `rows_of_record` of each record side by side, and of columns that
// are `units` for each gate. What is drawn for a record and a gate holds for all of its rows.
class GateProduct {
 public:
  struct Sizes {
    size_t records, rows_of_record, depth, units, gates;
  };

  GateProduct(const Sizes &sizes, float rate)
      : sizes_(sizes),
        rate_(rate),
        factors_(rate > 0 ? draws() : 0),
        kept_(rate > 0 ? sizes.records * sizes.rows_of_record * sizes.depth : 0) {}

  size_t draws() const { return sizes_.gates * sizes_.records * sizes_.depth; }
  // Before a step; `first` is the number of its first draw.
  void draw(DropoutDraws &draws, size_t first) {
    for (size_t i = 0; i < factors_.size(); ++i) factors_[i] = draws.factor(first + i, rate_);
  }

  // Each of them for the gates from `first` on that the columns belong to.
  // sums += rows . kernel
  void add(const Matrix &rows, const Matrix &kernel, const Matrix &sums, size_t first = 0) {
    if (rate_ == 0) return add_product(rows, kernel, sums);
    for_each_gate(sums, first, [&](size_t gate, size_t column) {
      add_product(kept(rows, gate), gate_of(kernel, column), gate_of(sums, column));
    });
  }
  // The gradient of the kernel += rows' . that of the sums
  void add_to_kernel(const Matrix &rows, const Matrix &dsums, const Matrix &dkernel,
                     size_t first = 0) {
    if (rate_ == 0) return add_product(rows.transposed(), dsums, dkernel);
    for_each_gate(dsums, first, [&](size_t gate, size_t column) {
      add_product(kept(rows, gate).transposed(), gate_of(dsums, column), gate_of(dkernel, column));
    });
  }
  // The gradient of the rows += that of the sums . kernel'
  void add_to_rows(const Matrix &dsums, const Matrix &kernel, const Matrix &drows,
                   size_t first = 0) {
    if (rate_ == 0) return add_product(dsums, kernel.transposed(), drows);
    for_each_gate(dsums, first, [&](size_t gate, size_t column) {
      const Matrix part = matrix(kept_.data(), drows.rows, sizes_.depth);
      std::fill(kept_.begin(), kept_.end(), 0.0F);
      add_product(gate_of(dsums, column), gate_of(kernel, column).transposed(), part);
      for (size_t row = 0; row < drows.rows; ++row)
        for (size_t i = 0; i < sizes_.depth; ++i)
          drows.row(row)[i] += part.row(row)[i] * factors_of(gate, row)[i];
    });
  }

 private:
  template <class Visit>
  void for_each_gate(const Matrix &sums, size_t first, const Visit &visit) const {
    for (size_t column = 0; column < sums.columns; column += sizes_.units)
      visit(first + column / sizes_.units, column);
  }
  Matrix gate_of(const Matrix &all, size_t column) const {
    return all.columns_from(column, sizes_.units);
  }
  const float *factors_of(size_t gate, size_t row) const {
    return factors_.data() + (gate * sizes_.records + row / sizes_.rows_of_record) * sizes_.depth;
  }
  Matrix kept(const Matrix &rows, size_t gate) {
    const Matrix kept = matrix(kept_.data(), rows.rows, sizes_.depth);
    for (size_t row = 0; row < rows.rows; ++row)
      for (size_t i = 0; i < sizes_.depth; ++i)
        kept.row(row)[i] = rows.row(row)[i] * factors_of(gate, row)[i];
    return kept;
  }

  const Sizes sizes_;
  const float rate_;
  std::vector<float> factors_;  // (gates, records, depth)
  std::vector<float> kept_;     // (rows, depth)
};

// What the recurrent operations have in common: the way through time, forward and back.

// The products of x with the kernel are made for all steps at once; then a cell goes from each
// state to the next. Back through time the cells say what their sums have as gradients, of which
// all else follows.
template <class Op>
class RecurrentKernel : public OperationKernel<Op> {
 public:
  RecurrentKernel(const Op &op, const Operands &operands)
      : OperationKernel<Op>(op, operands),
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
