// Any text in place of what a model is compiled with: it is trained and tested, or refused.
#include <cstdlib>

#include "core/base/error.h"
#include "tests/fuzz/dense_model.h"

namespace {

// What may be compared: numbers of classes, or as many numbers as there are results.
const std::vector<det::nn::ArrayType> truths{{{2}, det::nn::Dtype::i32},
                                             {{2, 3}, det::nn::Dtype::f32}};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace det;
  static nn::Model model = test::dense_model(2, 3, "softmax");
  try {
    model.compile(parse_json({reinterpret_cast<const char *>(data), size}, "the options"));
  } catch (const Error &e) {
    if (e.code != Code::invalid && e.code != Code::unsupported) std::abort();
    return 0;
  }
  for (const nn::ArrayType &type : truths) {
    const nn::Batch batch{{nn::Array({{2, 2}, nn::Dtype::f32})}, {nn::Array(type)}, {}};
    try {
      model.test_on_batch(batch);
      (void)model.training().metrics();
      model.train_on_batch(batch);
    } catch (const Error &e) {
      if (e.code != Code::invalid && e.code != Code::state) std::abort();
    }
  }
  return 0;
}
