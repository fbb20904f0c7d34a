// Steps after the first take no memory: whatever asks for it, in this library, in OpenMP and in all
// threads, asks here. What oneDNN notes of the arguments at each call of a primitive is not
// counted: its interface cannot do without.
#include <link.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "tests/bench/nn_models.h"
#include "tests/cmocka.h"

namespace {

std::atomic<size_t> allocations{0};

struct Code {
  uintptr_t begin = 0, end = 0;
} onednn;

int find_onednn(dl_phdr_info *library, size_t, void *) {
  if (std::strstr(library->dlpi_name, "libdnnl") == nullptr) return 0;
  for (size_t i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = library->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    onednn.begin = library->dlpi_addr + segment.p_vaddr;
    onednn.end = onednn.begin + segment.p_memsz;
  }
  return 1;
}

void count(const void *caller) {
  const auto at = reinterpret_cast<uintptr_t>(caller);
  if (at < onednn.begin || at >= onednn.end) ++allocations;
}

}  // namespace

extern "C" {

// What the C library calls its own functions, those of this program in their place.
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

void *malloc(size_t size) noexcept {
  count(__builtin_return_address(0));
  return __libc_malloc(size);
}

void *calloc(size_t elements, size_t size) noexcept {
  count(__builtin_return_address(0));
  return __libc_calloc(elements, size);
}

void *realloc(void *memory, size_t size) noexcept {
  count(__builtin_return_address(0));
  return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size) noexcept {
  count(__builtin_return_address(0));
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) noexcept {
  count(__builtin_return_address(0));
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
}

// In the place of the C++ library's, which is not who asks.
void *operator new(size_t size) {
  count(__builtin_return_address(0));
  void *memory = __libc_malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void *operator new(size_t size, std::align_val_t alignment) {
  count(__builtin_return_address(0));
  void *memory = __libc_memalign(static_cast<size_t>(alignment), size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void operator delete(void *memory) noexcept { __libc_free(memory); }
void operator delete(void *memory, size_t) noexcept { __libc_free(memory); }
void operator delete(void *memory, std::align_val_t) noexcept { __libc_free(memory); }

namespace det::test {
namespace {

void test_steps_of_each_model_take_no_memory(void **) {
  const std::pair<const char *, int64_t> models[] = {
      {"mlp", 1}, {"mlp", 64}, {"cnn", 16}, {"lstm", 16}, {"transformer", 4}};
  for (const auto &[name, batch] : models) {
    const bench::TrainedCase trained = bench::make_trained_case(name, batch);
    trained.model.train_on_batch(trained.records);
    const size_t before = allocations;
    for (int step = 0; step < 100; ++step) trained.model.train_on_batch(trained.records);
    if (allocations == before) continue;
    print_error("100 steps of the model '%s' asked for memory %zu times\n", name,
                allocations - before);
    assert_true(false);
  }
}

// That the one above can fail: the first step takes memory, of C++ and of C.
void test_first_steps_take_memory(void **) {
  const bench::TrainedCase made = bench::make_trained_case("mlp", 64);
  const size_t before = allocations;
  made.model.test_on_batch(made.records);
  assert_true(allocations > before);
}

}  // namespace
}  // namespace det::test

int main() {
  dl_iterate_phdr(find_onednn, nullptr);
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_steps_of_each_model_take_no_memory),
      cmocka_unit_test(test_first_steps_take_memory),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
