#include <optional>

#include "wrappers/nn/arithmetic/element_functions.h"
#include "wrappers/nn/cuda/cuda_kernels.h"
#include "wrappers/nn/cuda/device_step.h"
#include "wrappers/nn/cuda/gpu_loops.h"
#include "wrappers/nn/cuda/moves.h"
#include "wrappers/nn/cuda/product.h"
#include "wrappers/nn/cuda/sums.h"
#include "wrappers/nn/operations/operations.h"

namespace det::nn {

// Products of rows with a kernel of several gates, for each of which other elements of the rows are
// left out: on the GPU what reference/gate_product.h says.

// The rows of all records at one step: `row` apart, as in an array (batch, steps, columns).
struct StepRows {
  float *data;
  size_t row;

  DET_HOST_DEVICE float *of(size_t record) const { return data + record * row; }
};

// What the elements of rows are multiplied by for one gate.
struct GateFactors {
  const float *data;
  size_t rows_of_record, depth;

  DET_HOST_DEVICE float operator()(size_t row, size_t i) const {
    return data[row / rows_of_record * depth + i];
  }
};

// `rows_of_record` rows of `depth` elements for each record; sums, and the kernel, have `units`
// columns for each gate, all gates' side by side.
class GateProducts {
 public:
  struct Sizes {
    size_t records, rows_of_record, depth, units, gates;
    size_t row_of_sums;  // from one row to the next
  };

  // `factors` are scratch of draws(), `kept` of all rows.
  GateProducts(const CudaContextPtr &context, const Sizes &sizes, float rate, Array factors,
               Array kept)
      : context_(context),
        sizes_(sizes),
        rate_(rate),
        factors_(std::move(factors)),
        kept_(std::move(kept)),
        of_rows_(context, {.rows = rows(),
                           .columns = sizes.units,
                           .depth = sizes.depth,
                           .row_of_b = width(),
                           .row_of_c = sizes.row_of_sums,
                           .alignment = alignment_of({sizes.units * sizeof(float)})}),
        to_kernel_(context, {.rows = sizes.depth,
                             .columns = sizes.units,
                             .depth = rows(),
                             .transpose_a = true,
                             .row_of_b = sizes.row_of_sums,
                             .row_of_c = width(),
                             .alignment = alignment_of({sizes.units * sizeof(float)})}),
        to_rows_(context, {.rows = rows(),
                           .columns = sizes.depth,
                           .depth = sizes.units,
                           .transpose_b = true,
                           .row_of_a = sizes.row_of_sums,
                           .row_of_b = width(),
                           .alignment = alignment_of({sizes.units * sizeof(float)})}) {}

  static size_t draws(const Sizes &sizes) { return sizes.gates * sizes.records * sizes.depth; }

  // Before a step: number `first` is its first draw.
  void draw(const StepState *state, uint64_t stream, size_t first) const {
    float *factors = factors_.data();
    const float rate = rate_;
    for_each(*context_, factors_.size(), [=] DET_DEVICE(size_t i) {
      DropoutDraws draws(state->seed, stream, state->step);
      factors[i] = draws.factor(first + i, rate);
    });
  }

  // sums = rows . kernel + beta * sums
  void add(const StepRows &from, const float *kernel, float *sums, float beta) const {
    for (size_t gate = 0; gate < sizes_.gates; ++gate) {
      keep(from, gate);
      of_rows_.run(kept_.data(), kernel + column(gate), sums + column(gate), 1, beta);
    }
  }
  // The gradient of the kernel += rows' . that of the sums
  void add_to_kernel(const StepRows &from, const float *dsums, float *dkernel) const {
    for (size_t gate = 0; gate < sizes_.gates; ++gate) {
      keep(from, gate);
      to_kernel_.run(kept_.data(), dsums + column(gate), dkernel + column(gate), 1, 1);
    }
  }
  // The gradient of the rows = that of the sums . kernel' + beta * that of the rows
  void pass_to_rows(const float *dsums, const float *kernel, const StepRows &to, float beta) const {
    for (size_t gate = 0; gate < sizes_.gates; ++gate) {
      to_rows_.run(dsums + column(gate), kernel + column(gate), kept_.data());
      const float *part = kept_.data();
      const GateFactors factors = factors_of(gate);
      const size_t depth = sizes_.depth;
      const float before = gate == 0 ? beta : 1;
      for_each(*context_, kept_.size(), [=] DET_DEVICE(size_t i) {
        float &sum = to.of(i / depth)[i % depth];
        const float added = part[i] * factors(i / depth, i % depth);
        sum = before == 0 ? added : before * sum + added;
      });
    }
  }

  // What a gate sees of the rows.
  void keep(const StepRows &from, size_t gate) const {
    float *kept = kept_.data();
    const GateFactors factors = factors_of(gate);
    const size_t depth = sizes_.depth;
    for_each(*context_, kept_.size(), [=] DET_DEVICE(size_t i) {
      kept[i] = from.of(i / depth)[i % depth] * factors(i / depth, i % depth);
    });
  }

 private:
  size_t rows() const { return sizes_.records * sizes_.rows_of_record; }
  size_t width() const { return sizes_.gates * sizes_.units; }
  size_t column(size_t gate) const { return gate * sizes_.units; }
  GateFactors factors_of(size_t gate) const {
    return {factors_.data() + gate * sizes_.records * sizes_.depth, sizes_.rows_of_record,
            sizes_.depth};
  }

  const CudaContextPtr context_;
  const Sizes sizes_;
  const float rate_;
  const Array factors_;  // (gates, records, depth)
  const Array kept_;     // (rows, depth)
  const Product of_rows_, to_kernel_, to_rows_;
};

// What the recurrent operations have in common on the GPU: the way through time, forward and back.

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
