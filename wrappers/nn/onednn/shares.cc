#include "wrappers/nn/onednn/shares.h"

#if DNNL_CPU_RUNTIME == DNNL_RUNTIME_OMP
// Of OpenMP's library, as compilers call it: the one that oneDNN uses, whichever the compiler has.
extern "C" {
void openmp_parallel(void (*work)(void *data), void *data, unsigned threads,
                     unsigned flags) __asm__("GOMP_parallel");
int omp_get_num_threads(void);
int omp_get_thread_num(void);
}
#endif

namespace det::nn {

namespace {

// Of a share; with fewer, waking a thread and waiting for it takes longer than what it does.
constexpr size_t elements_of_share = 1 << 14;

}  // namespace

#if DNNL_CPU_RUNTIME == DNNL_RUNTIME_OMP
size_t shares_of(const OnednnContext &context, size_t elements) {
  const auto threads = static_cast<size_t>(context.threads);
  return elements / threads < elements_of_share ? 1 : threads;
}

void run_shares(size_t shares, void (*work)(const void *loop, size_t share), const void *loop) {
  if (shares == 1) return work(loop, 0);
  struct Shares {
    size_t count;
    void (*work)(const void *loop, size_t share);
    const void *loop;
  } all{shares, work, loop};
  // There may be fewer threads than were asked for.
  const auto of_thread = [](void *data) {
    const auto &[count, take, of] = *static_cast<const Shares *>(data);
    const auto threads = static_cast<size_t>(omp_get_num_threads());
    for (auto share = static_cast<size_t>(omp_get_thread_num()); share < count; share += threads)
      take(of, share);
  };
  openmp_parallel(of_thread, &all, static_cast<unsigned>(shares), 0);
}
#else
size_t shares_of(const OnednnContext &, size_t) { return 1; }

void run_shares(size_t shares, void (*work)(const void *loop, size_t share), const void *loop) {
  for (size_t share = 0; share < shares; ++share) work(loop, share);
}
#endif

}  // namespace det::nn
