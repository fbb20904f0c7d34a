#include <type_traits>

#include "wrappers/nn/cuda/cuda_kernels.h"
#include "wrappers/nn/cuda/gpu_loops.h"
#include "wrappers/nn/cuda/moves.h"

namespace det::nn {

namespace {

// The row of an id, or -1 where there is none.
template <class Id>
DET_HOST_DEVICE int64_t row_of(Id id, int64_t rows) {
  if constexpr (std::is_same_v<Id, float>) {
    if (!(id > -1 && id < static_cast<float>(rows))) return -1;
  } else {
    if (id < 0 || id >= rows) return -1;
  }
  return static_cast<int64_t>(id);
}

// Ids that were fed have been checked. Of one that a layer has computed, and that is no row, the
// features are not numbers.
template <class Id>
void take_rows(const CudaContext &context, const Id *ids, const Array &table, const Array &output) {
  const float *rows = table.data();
  float *y = output.data();
  const int64_t count = table.shape()[0];
  const auto features = static_cast<size_t>(table.shape()[1]);
  for_each(context, output.size(), [=] DET_DEVICE(size_t i) {
    const int64_t row = row_of(ids[i / features], count);
    y[i] = row < 0 ? NAN : rows[static_cast<size_t>(row) * features + i % features];
  });
}

// The first place of an id adds up what all of its places have, in their order: the same bits each
// time, which atomic additions would not give.
template <class Id>
void give_to_rows(const CudaContext &context, const Id *ids, size_t places, const Array &gradient,
                  const Array &table) {
  const float *dy = gradient.data();
  float *dtable = table.data();
  const int64_t count = table.shape()[0];
  const auto features = static_cast<size_t>(table.shape()[1]);
  for_each_row(context, places, features, [=] DET_DEVICE(const RowGroup &group, size_t place) {
    const int64_t row = row_of(ids[place], count);
    if (row < 0) return;
    const float earlier = group.sum(
        place, [&](size_t before) { return row_of(ids[before], count) == row ? 1.0F : 0.0F; });
    if (earlier > 0) return;
    group.each(features, [&](size_t k) {
      float sum = 0;
      for (size_t other = place; other < places; ++other)
        if (row_of(ids[other], count) == row) sum += dy[other * features + k];
      dtable[static_cast<size_t>(row) * features + k] = sum;
    });
  });
}

class EmbeddingKernel : public CudaKernel<EmbeddingOp> {
 public:
  using CudaKernel::CudaKernel;

  void forward() override {
    if (is_of_integers()) take_rows(*context_, input(0).data<int32_t>(), input(1), output());
    else take_rows(*context_, input(0).data(), input(1), output());
  }

  void backward() override {
    for (size_t i = 0; i < inputs(); ++i)
      if (const Array &gradient = input_gradient(i)) clear(*context_, gradient);
    const Array &table = input_gradient(1);
    if (!table) return;
    const size_t places = input(0).size();
    if (is_of_integers())
      give_to_rows(*context_, input(0).data<int32_t>(), places, output_gradient(), table);
    else give_to_rows(*context_, input(0).data(), places, output_gradient(), table);
  }

 private:
  bool is_of_integers() const { return input(0).dtype() == Dtype::i32; }
};

}  // namespace

std::unique_ptr<Kernel> cuda_kernel(const EmbeddingOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  if (operands.inputs.at(1).size() == 0) return nullptr;
  return std::make_unique<EmbeddingKernel>(op, operands, context);
}

}  // namespace det::nn
