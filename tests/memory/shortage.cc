#include "tests/memory/shortage.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

#include "tests/sanitizer.h"

namespace det::test {
namespace {

enum class Concerned { nobody, who_is_marked, who_is_not };
std::atomic<Concerned> concerned{Concerned::nobody};
std::atomic<Allocations> concerning{Allocations::all};
std::atomic<int64_t> left, to_fail, failed;
thread_local bool is_marked = false;
thread_local int spared = 0;

[[maybe_unused]] bool runs_out(Allocations of) {
  const Concerned who = concerned.load(std::memory_order_relaxed);
  if (who == Concerned::nobody || spared > 0) return false;
  if (concerning == Allocations::of_cpp && of != Allocations::of_cpp) return false;
  if ((who == Concerned::who_is_marked) != is_marked) return false;
  if (left.fetch_sub(1) > 0) return false;
  if (to_fail.fetch_sub(1) <= 0) return false;
  failed.fetch_add(1);
  return true;
}

}  // namespace

Shortage::Shortage(Whose whose, int64_t before, int64_t count, Allocations which) {
  concerning = which;
  left = before;
  to_fail = count;
  failed = 0;
  is_marked = true;
  concerned = whose == Whose::this_thread ? Concerned::who_is_marked : Concerned::who_is_not;
}
void Shortage::end() {
  concerned = Concerned::nobody;
  is_marked = false;
}
int64_t Shortage::failures() const { return failed; }

Spared::Spared() { ++spared; }
Spared::~Spared() { --spared; }

}  // namespace det::test

#if !DET_TEST_UNDER_TSAN

#if !DET_TEST_UNDER_ASAN
// Stand before those of the C library, which everything in this process then uses.
extern "C" {
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

static bool refuses() {
  if (!det::test::runs_out(det::test::Allocations::all)) return false;
  errno = ENOMEM;
  return true;
}
void *malloc(size_t size) { return refuses() ? nullptr : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return refuses() ? nullptr : __libc_calloc(count, size); }
void *realloc(void *memory, size_t size) {
  return refuses() ? nullptr : __libc_realloc(memory, size);
}
}
#endif

// Not inlined: the compiler would see malloc() and operator delete as a pair that does not match.
[[gnu::noinline]] void *operator new(size_t size, const std::nothrow_t &) noexcept {
  if (det::test::runs_out(det::test::Allocations::of_cpp)) return nullptr;
  const det::test::Spared counted_already;
  return std::malloc(size);
}
[[gnu::noinline]] void *operator new(size_t size) {
  void *memory = operator new(size, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void *memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void *memory, size_t) noexcept { std::free(memory); }
#endif
