// The back end 'cuda' on a GPU, where there is one: every operation, and steps that are recorded
// and replayed. What needs none is in test_cuda.cc.
#include <cmath>
#include <cstdlib>

#include "core/base/error.h"
#include "tests/cmocka.h"
#include "tests/nn/suite/operation_suite.h"
#include "tests/nn/suite/small_model.h"

namespace det::test {
namespace {

// None, and the test is to be skipped, where there is no GPU.
std::shared_ptr<nn::Backend> open_gpu() {
  setenv("DETNN_CUDA_LIBRARY", CUDA_LIBRARY, 1);
  try {
    return nn::open_backend("cuda");
  } catch (const Error &e) {
    if (e.code != Code::unsupported) throw;
    print_message("# skipped: no GPU: %s\n", e.what());
    return nullptr;
  }
}

void test_operations(void **) {
  const auto gpu = open_gpu();
  if (!gpu) return skip();
  for (const std::string &name : compare_with_loops(*gpu))
    print_message("# left to the loops: %s\n", name.c_str());
}

void test_steps(void **) {
  if (!open_gpu()) return skip();
  std::vector<std::vector<double>> losses;
  for (const char *backend : {"reference", "cuda", "cuda"}) {
    nn::Model model(small_model(), {7, backend, 1});
    model.compile(sparse_losses("adam"));
    losses.emplace_back();
    for (int step = 0; step < 8; ++step) {
      model.training().reset_metrics();
      model.train_on_batch(batch_of(16));
      losses.back().push_back(model.training().metric(0));
    }
  }
  for (size_t step = 0; step < losses[0].size(); ++step) {
    assert_true(std::fabs(losses[1][step] - losses[0][step]) < 1e-4);
    // The same bits each time.
    assert_true(losses[2][step] == losses[1][step]);
  }
}

}  // namespace
}  // namespace det::test

int test_gpu() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_operations),
      cmocka_unit_test(test_steps),
  };
  return cmocka_run_group_tests_name("gpu", tests, nullptr, nullptr);
}
