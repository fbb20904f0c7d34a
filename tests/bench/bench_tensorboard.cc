// What adding to TensorBoard costs its caller, in nanoseconds: a line "NAME MEDIAN P99" each.
#include <det/core.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tests/bench/measure.h"

namespace {

void print_line(const char *name, const bench::Distribution &times) {
  std::printf("%s %lld %lld\n", name, static_cast<long long>(times.median),
              static_cast<long long>(times.p99));
}

}  // namespace

int main() {
  det_error err = DET_ERROR_INIT;
  det_core *core = nullptr;
  bench::check(det_core_init(nullptr, &core, &err), err);
  det_tensorboard_context *board = det_core_tensorboard(core);
  const auto add_scalar = [&](size_t step) {
    bench::check(
        det_tensorboard_add_scalar(board, "optimizer/lr", static_cast<int64_t>(step), 0.5, &err),
        err);
  };
  const std::vector<float> weights(1'000'000, 0.5F);
  print_line("scalar", bench::measure(1'000'000, 0, add_scalar));
  constexpr int64_t batch_ns = 100'000;  // training between them
  print_line("scalar-in-training", bench::measure(20'000, batch_ns, add_scalar));
  print_line("histogram", bench::measure(20, 0, [&](size_t step) {
               bench::check(
                   det_tensorboard_add_histogram_float(board, "weights", static_cast<int64_t>(step),
                                                       weights.data(), weights.size(), &err),
                   err);
             }));
  bench::check(det_core_close(core, DET_OUTCOME_OK, &err), err);
  det_core_free(core);
}
