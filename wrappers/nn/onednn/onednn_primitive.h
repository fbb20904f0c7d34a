// What all kernels of oneDNN are made of.
#pragma once

#include <memory>
#include <vector>

#include "wrappers/nn/array.h"
#include "wrappers/nn/onednn/onednn_api.h"

namespace det::nn {

// The processor, and how many threads of it are used. Shared by all kernels of a back end.
struct OnednnContext {
  explicit OnednnContext(int most_threads);

  const int threads;
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};

// As long as it lives, with how many threads the thread that made it has oneDNN prepare and
// compute. A primitive is computed with as many as it was prepared for.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit &) = delete;
  ThreadLimit &operator=(const ThreadLimit &) = delete;

 private:
  const int before_;  // the program's own number, which it gets back
  const bool is_other_;
};

// Of float32, row-major.
MemoryDesc row_major(const Shape &shape);
MemoryDesc column_major(int64_t rows, int64_t columns);  // as rows x columns, by columns

// Memory for intermediate results comes from us, once.
dnnl::primitive_attr usual_attributes();

// A primitive with all that it works on.
class OnednnPrimitive {
 public:
  OnednnPrimitive(std::shared_ptr<OnednnContext> context, dnnl::primitive primitive,
                  const MemoryDesc &scratchpad);

  // `argument` is a DNNL_ARG_*.
  OnednnPrimitive &with(int argument, const MemoryDesc &desc, void *data);
  // The argument, which there is already, is elsewhere from now on.
  void move(int argument, void *data);
  void run() const;

 private:
  std::shared_ptr<OnednnContext> context_;
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;  // of memories_
};

}  // namespace det::nn
