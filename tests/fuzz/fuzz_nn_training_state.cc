// Any bytes in place of a file of the state of training: read, and trained on from, or refused as
// damaged or another optimizer's.
#include <cstdlib>
#include <fstream>

#include "core/base/error.h"
#include "tests/fuzz/dense_model.h"
#include "tests/temporary_directory.h"
#include "wrappers/nn/files/model_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace det;
  using test::described;
  static const TemporaryDirectory directory;
  // All that a state may have: a schedule, a moving average and a scale of the loss.
  static nn::Model model = [] {
    const Json rate = described("CosineDecayRestarts",
                                {{"initial_learning_rate", 0.1}, {"first_decay_steps", 5}});
    const Json inner = described(
        "Nadam", {{"learning_rate", rate}, {"use_ema", true}, {"ema_overwrite_frequency", 2}});
    nn::Model made = test::dense_model(1, 2);
    made.compile({{"optimizer", described("LossScaleOptimizer", {{"inner_optimizer", inner}})},
                  {"loss", "mse"}});
    return made;
  }();
  static const nn::Batch batch{
      {nn::Array({{1, 1}, nn::Dtype::f32})}, {nn::Array({{1, 2}, nn::Dtype::f32})}, {}};
  std::ofstream(directory / "state", std::ios::binary)
      .write(reinterpret_cast<const char *>(data), static_cast<std::streamsize>(size));
  try {
    nn::load_training_state(model, directory / "state");
    model.train_on_batch(batch);
  } catch (const Error &e) {
    if (e.code != Code::corrupt && e.code != Code::invalid) std::abort();
  }
  return 0;
}
