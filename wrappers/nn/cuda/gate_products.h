// Products of rows with a kernel of several gates, for each of which other elements of the rows are
// left out: on the GPU what reference/gate_product.h says.
#pragma once

#include "wrappers/nn/cuda/gpu_loops.h"
#include "wrappers/nn/cuda/product.h"
#include "wrappers/nn/operations/dropout_op.h"

namespace det::nn {

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

}  // namespace det::nn
