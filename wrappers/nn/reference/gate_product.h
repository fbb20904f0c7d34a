// Products of rows with a kernel of several gates, for each of which other elements of the rows may
// be left out.
#pragma once

#include <algorithm>
#include <vector>

#include "wrappers/nn/operations/operations.h"
#include "wrappers/nn/reference/matrix.h"

namespace det::nn {

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

}  // namespace det::nn
