// oneDNN and the loops beside it over a grid of odd shapes, against the plain loops. Memory that
// vectors are computed in ends where the process may not write, for a back end below us may do so:
// each instruction set (DNNL_MAX_CPU_ISA) is a process of its own.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

#include "core/base/error.h"
#include "tests/cmocka.h"
#include "tests/nn/suite/operation_suite.h"
#include "wrappers/nn/arithmetic/random_stream.h"

namespace {

const char *tried_now = "nothing";

void say_what_was_tried(int signal) {
  for (const char *text : {"Bail out! ended by a signal in: ", tried_now, "\n"})
    if (write(STDOUT_FILENO, text, std::strlen(text)) < 0) break;
  std::signal(signal, SIG_DFL);
  raise(signal);
}

}  // namespace

#ifdef GUARDED_MEMORY

extern "C" {
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);
}

namespace {

// Each block of aligned memory has pages of its own, and between it and the next one that is
// closed. What is between its end and that page is looked at when it is freed.
class GuardedMemory {
 public:
  void *allocate(size_t alignment, size_t size) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (begin_ == nullptr) reserve();
    const size_t room = rounded(std::max<size_t>(size, 1), std::max(alignment, least_alignment));
    const size_t whole = rounded(room, page);
    if (used_ + whole + page > reserved || alignment > page) return nullptr;
    std::byte *const block = begin_ + used_ + page;
    used_ += whole + page;
    if (mprotect(block, whole, PROT_READ | PROT_WRITE) != 0) return nullptr;
    std::memset(block, filling, whole);
    std::byte *const given = block + (whole - room);
    blocks_[given] = {block, whole, size};
    return given;
  }

  bool has(const void *memory) const {
    return begin_ != nullptr && memory >= begin_ && memory < begin_ + reserved;
  }

  void free(void *memory) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = blocks_.find(static_cast<std::byte *>(memory));
    if (found == blocks_.end()) std::abort();
    const auto &[block, whole, size] = found->second;
    const auto is_filling = [](std::byte one) { return one == std::byte{filling}; };
    if (!std::all_of(block, found->first, is_filling) ||
        !std::all_of(found->first + size, block + whole, is_filling))
      std::abort();
    madvise(block, whole, MADV_DONTNEED);
    mprotect(block, whole, PROT_NONE);
    blocks_.erase(found);
  }

 private:
  static constexpr size_t page = 4096, least_alignment = 64, reserved = size_t{1} << 40U;
  static constexpr unsigned char filling = 0xA5;

  struct Block {
    std::byte *begin;
    size_t whole, size;
  };

  static size_t rounded(size_t size, size_t to) { return (size + to - 1) / to * to; }

  void reserve() {
    void *const memory =
        mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    begin_ = static_cast<std::byte *>(memory);
  }

  std::mutex mutex_;
  std::byte *begin_ = nullptr;
  size_t used_ = 0;
  std::map<std::byte *, Block> blocks_;
};

GuardedMemory &guarded() {
  static GuardedMemory *const memory = new GuardedMemory;  // others free theirs as the process ends
  return *memory;
}

}  // namespace

// In the place of the C library's, for oneDNN and for arrays.
extern "C" {

void *aligned_alloc(size_t alignment, size_t size) noexcept {
  return guarded().allocate(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) noexcept {
  *memory = guarded().allocate(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}

void free(void *memory) noexcept {
  if (guarded().has(memory)) guarded().free(memory);
  else __libc_free(memory);
}
}

void *operator new(size_t size, std::align_val_t alignment) {
  void *const memory = guarded().allocate(static_cast<size_t>(alignment), size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void operator delete(void *memory, std::align_val_t) noexcept { guarded().free(memory); }

#endif

namespace det::test {
namespace {

void test_odd_shapes_are_those_of_the_loops(void **) {
  const auto one = nn::open_backend("onednn", 1), two = nn::open_backend("onednn", 2);
  nn::RandomStream random(2, 0);
  for (const OperationCase &tried : odd_cases()) {
    tried_now = tried.name.c_str();
    // oneDNN shares convolutions out in ways of their own; of all others half are tried by each.
    const bool by_both = std::holds_alternative<nn::ConvolutionOp>(tried.operation);
    const bool by_one = random.word() % 2 == 0;
    if (by_both || by_one) compare_with_loops(tried, *one);
    if (by_both || !by_one) compare_with_loops(tried, *two);
  }
  tried_now = "nothing";
}

#ifdef GUARDED_MEMORY

void test_memory_ends_in_a_closed_page(void **) {
  // Volatile, as the compiler knows the size as well.
  std::byte *const volatile memory = static_cast<std::byte *>(std::aligned_alloc(64, 60));
  assert_true(guarded().has(memory));
  // The first byte behind the 64 that were rounded to; reading it by the kernel does not end the
  // test.
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  assert_int_equal(write(ends[1], memory + 63, 1), 1);
  assert_int_equal(write(ends[1], memory + 64, 1), -1);
  assert_int_equal(errno, EFAULT);
  close(ends[0]);
  close(ends[1]);
  std::free(memory);
}

#endif

}  // namespace
}  // namespace det::test

int main() {
  using namespace det::test;
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGABRT, SIGFPE})
    std::signal(signal, say_what_was_tried);
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_odd_shapes_are_those_of_the_loops),
#ifdef GUARDED_MEMORY
      cmocka_unit_test(test_memory_ends_in_a_closed_page),
#endif
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
