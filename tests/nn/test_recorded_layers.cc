// Layers and models against those of Keras: tests/data/nn/layers.
#include "tests/cmocka.h"
#include "tests/nn/recorded/recorded_call.h"
#include "tests/nn/suite/back_ends.h"

namespace det::test {
namespace {

// `skipped`: what Keras has and we have not, said at every run.
void compare(const char *file, const std::vector<std::string> &skipped = {}) {
  const Fixture fixture(file);
  for (const std::string &name : compared_back_ends()) {
    const auto backend = nn::open_backend(name);
    print_message("# %s on the back end %s\n", file, name.c_str());
    fixture.for_each(
        [&](const Json &about, const std::string &) {
          RecordedCall call(fixture, about, *backend);
          call.compare_outputs();
          call.compare_gradients();
          call.compare_regularization();
          call.compare_states();
        },
        skipped);
  }
}

void test_activation(void **) {
  compare("layers/activation", {"activation_mish", "activation_log_softmax"});
}
void test_attention(void **) { compare("layers/attention"); }
void test_convolution(void **) { compare("layers/convolution"); }
void test_dense(void **) { compare("layers/dense"); }
void test_embedding(void **) { compare("layers/embedding"); }
void test_merge(void **) { compare("layers/merge"); }
void test_mixed(void **) { compare("layers/mixed"); }
void test_models(void **) { compare("layers/models"); }
void test_normalization(void **) { compare("layers/normalization"); }
void test_pooling(void **) { compare("layers/pooling"); }
void test_recurrent(void **) { compare("layers/recurrent"); }
void test_shape(void **) { compare("layers/shape"); }

}  // namespace
}  // namespace det::test

int test_recorded_layers() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_activation),    cmocka_unit_test(test_attention),
      cmocka_unit_test(test_convolution),   cmocka_unit_test(test_dense),
      cmocka_unit_test(test_mixed),         cmocka_unit_test(test_embedding),
      cmocka_unit_test(test_merge),         cmocka_unit_test(test_models),
      cmocka_unit_test(test_normalization), cmocka_unit_test(test_pooling),
      cmocka_unit_test(test_recurrent),     cmocka_unit_test(test_shape),
  };
  return cmocka_run_group_tests_name("recorded_layers", tests, nullptr, nullptr);
}
