#include "tests/nn/suite/small_model.h"

#include <algorithm>

#include "tests/nn/suite/operation_case.h"

namespace det::test {

Json layer(const char *class_name, Json config) {
  return {{"class_name", class_name}, {"config", std::move(config)}};
}

Json sequential(Json layers) {
  return {{"class_name", "Sequential"},
          {"config", {{"name", "small"}, {"layers", std::move(layers)}}}};
}

Json small_model() {
  return sequential({layer("InputLayer", {{"batch_input_shape", {nullptr, 2, 3}}, {"name", "x"}}),
                     layer("Flatten", Json::object()),
                     layer("Dense", {{"units", 8}, {"activation", "relu"}}),
                     layer("Dense", {{"units", 3}, {"activation", "softmax"}})});
}

nn::Batch batch_of(int64_t records) {
  nn::Batch batch{{nn::Array(floats({records, 2, 3}))}, {nn::Array(ints({records}))}, {}};
  fill_randomly(batch.inputs[0], 7);
  for (int64_t i = 0; i < records; ++i) {
    const float *x = batch.inputs[0].data() + i * 6;
    batch.truths[0].data<int32_t>()[i] = static_cast<int32_t>(std::max_element(x, x + 3) - x);
  }
  return batch;
}

Json sparse_losses(Json optimizer) {
  return {{"optimizer", std::move(optimizer)},
          {"loss", "sparse_categorical_crossentropy"},
          {"metrics", {"accuracy"}}};
}

}  // namespace det::test
