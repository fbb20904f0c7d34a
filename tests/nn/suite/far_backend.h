// A back end without kernels whose arithmetic alone reaches its memory, and which notes what
// that is asked for.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/cmocka.h"
#include "wrappers/nn/arithmetic/weight_arithmetic.h"
#include "wrappers/nn/backend.h"

namespace det::test {

// As that of a device: whoever else reads or writes it while it is closed ends the test.
class FarMemory {
 public:
  std::shared_ptr<std::byte> allocate(size_t bytes) {
    void *const begin = mmap(nullptr, bytes, protection_, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(begin != MAP_FAILED);
    parts_.push_back({begin, bytes});
    return {static_cast<std::byte *>(begin), [bytes](std::byte *at) { munmap(at, bytes); }};
  }
  bool has(const void *at) const {
    return std::any_of(parts_.begin(), parts_.end(),
                       [at](const auto &part) { return part.first == at; });
  }
  void open() { protect(PROT_READ | PROT_WRITE); }
  void close() { protect(PROT_NONE); }

 private:
  void protect(int protection) {
    protection_ = protection;
    for (const auto &[begin, bytes] : parts_)
      assert_int_equal(mprotect(begin, bytes, protection), 0);
  }

  int protection_ = PROT_READ | PROT_WRITE;
  std::vector<std::pair<void *, size_t>> parts_;
};

// The usual loops, on that memory.
class FarArithmetic : public nn::WeightArithmetic {
 public:
  explicit FarArithmetic(FarMemory &memory) : memory_(memory) {}

  void update(const nn::UpdateRule &rule, const nn::Array &weights, const nn::Array &gradients,
              std::span<float *const> slots) override {
    reach("update", [&] { WeightArithmetic::update(rule, weights, gradients, slots); });
  }
  void shorten(const nn::Array &values, double longest) override {
    reach("shorten", [&] { WeightArithmetic::shorten(values, longest); });
  }
  bool scale_and_check(const nn::Array &values, float by) override {
    bool are_finite = false;
    reach("scale_and_check", [&] { are_finite = WeightArithmetic::scale_and_check(values, by); });
    return are_finite;
  }
  void limit(const nn::Array &values, float to) override {
    reach("limit", [&] { WeightArithmetic::limit(values, to); });
  }
  void decay(const nn::Array &values, float by) override {
    reach("decay", [&] { WeightArithmetic::decay(values, by); });
  }
  void follow(const nn::Array &average, const nn::Array &weights, float kept) override {
    reach("follow", [&] { WeightArithmetic::follow(average, weights, kept); });
  }
  void copy(const nn::Array &from, const nn::Array &to) override {
    reach("copy", [&] { WeightArithmetic::copy(from, to); });
  }
  void fill(const nn::Array &to, float value) override {
    reach("fill", [&] { WeightArithmetic::fill(to, value); });
  }

  std::set<std::string> calls;

 private:
  template <class Work>
  void reach(const char *name, const Work &work) {
    calls.insert(name);
    memory_.open();
    work();
    memory_.close();
  }

  FarMemory &memory_;
};

class FarBackend : public nn::Backend {
 public:
  const char *name() const override { return "far"; }
  std::unique_ptr<nn::Kernel> make(const nn::Operation &, const nn::Operands &) override {
    return nullptr;
  }
  std::shared_ptr<std::byte> allocate(size_t bytes) override { return memory.allocate(bytes); }
  FarArithmetic &arithmetic() override { return arithmetic_; }

  FarMemory memory;

 private:
  FarArithmetic arithmetic_{memory};
};

}  // namespace det::test
