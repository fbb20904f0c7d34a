// Layers and models against those of Keras: tests/data/nn/layers.
#include "tests/cmocka.h"
#include "tests/nn/recorded/recorded_call.h"
#include "tests/nn/suite/back_ends.h"
#include "wrappers/nn/arrays/array_copy.h"

namespace det::test {
namespace {

void compare(const char *file) {
  const Fixture fixture(file);
  for (const std::string &name : compared_back_ends()) {
    const auto backend = nn::open_backend(name);
    print_message("# %s on the back end %s\n", file, name.c_str());
    fixture.for_each([&](const Json &about, const std::string &) {
      RecordedCall call(fixture, about, *backend);
      call.compare_outputs();
      call.compare_gradients();
      call.compare_regularization();
      call.compare_states();
    });
  }
}

void test_activation(void **) { compare("layers/activation"); }
void test_attention(void **) { compare("layers/attention"); }
void test_convolution(void **) { compare("layers/convolution"); }
void test_dense(void **) { compare("layers/dense"); }
void test_embedding(void **) { compare("layers/embedding"); }
void test_images(void **) { compare("layers/images"); }
void test_merge(void **) { compare("layers/merge"); }
void test_masks(void **) { compare("layers/masks"); }
void test_mixed(void **) { compare("layers/mixed"); }
// What no layer is named after.
void test_functions(void **) {
  const Fixture fixture("layers/functions");
  for (const std::string &backend_name : compared_back_ends()) {
    const auto backend = nn::open_backend(backend_name);
    fixture.for_each([&](const Json &about, const std::string &name) {
      const bool is_approximate = about["arguments"].value("approximate", false);
      const auto function =
          is_approximate ? nn::Activation::gelu_approximate
                         : nn::activation_named(about["function"].get<std::string>(), "a test");
      const nn::Array &x = fixture[name + "/x"];
      nn::Weights none;
      nn::ProgramBuilder builder(none, true);
      const nn::Value y = builder.add(nn::ActivationOp{function}, {builder.feed(x.type(), true)});
      const nn::Program program = builder.finish({y});
      none.settle(0);
      const nn::StepState state;
      nn::Executable executable(program, none, *backend, state);
      nn::copy_elements(x, executable.fed(0), "x");
      executable.forward();
      expect_recorded(executable.result(0), fixture[name + "/y"], 1e-6, "y");
      nn::copy_elements(fixture[name + "/output_gradient"], executable.result_gradient(0), "dy");
      executable.backward();
      expect_recorded(executable.fed_gradient(0), fixture[name + "/input_gradient"], 2e-6, "dx");
    });
  }
}
void test_models(void **) { compare("layers/models"); }
void test_normalization(void **) { compare("layers/normalization"); }
void test_operators(void **) { compare("layers/operators"); }
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
      cmocka_unit_test(test_images),        cmocka_unit_test(test_merge),
      cmocka_unit_test(test_models),        cmocka_unit_test(test_functions),
      cmocka_unit_test(test_normalization), cmocka_unit_test(test_pooling),
      cmocka_unit_test(test_recurrent),     cmocka_unit_test(test_shape),
      cmocka_unit_test(test_masks),         cmocka_unit_test(test_operators),
  };
  return cmocka_run_group_tests_name("recorded_layers", tests, nullptr, nullptr);
}
