#include "wrappers/nn/onednn/onednn_primitive.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>

#include "core/base/error.h"

#if DNNL_CPU_RUNTIME == DNNL_RUNTIME_OMP
// Of OpenMP; its header is not where every compiler looks.
extern "C" {
int omp_get_max_threads(void);
void omp_set_num_threads(int threads);
}
#endif

namespace det::nn {

namespace {

int usable_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(CPU_COUNT(&set), 1);
  return static_cast<int>(std::max(std::thread::hardware_concurrency(), 1U));
}

// As launchers say it.
int ranks_here() {
  for (const char *name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE",
                           "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE", "LOCAL_SIZE"})
    if (const char *value = std::getenv(name)) return std::max(std::atoi(value), 1);
  return 1;
}

// As OpenMP and other libraries of numbers are told it, or else its share of the processors.
int usual_threads() {
  const char *const told = std::getenv("OMP_NUM_THREADS");
  if (const int threads = told == nullptr ? 0 : std::atoi(told); threads > 0) return threads;
  return std::max(usable_processors() / ranks_here(), 1);
}

}  // namespace

#if DNNL_CPU_RUNTIME == DNNL_RUNTIME_OMP
ThreadLimit::ThreadLimit(int threads)
    : before_(omp_get_max_threads()), is_other_(before_ != threads) {
  if (is_other_) omp_set_num_threads(threads);
}

ThreadLimit::~ThreadLimit() {
  if (is_other_) omp_set_num_threads(before_);
}
#else
ThreadLimit::ThreadLimit(int threads) : before_(threads), is_other_(false) {}
ThreadLimit::~ThreadLimit() = default;  // a runtime that has its own limits
#endif

OnednnContext::OnednnContext(int most_threads)
    : threads(most_threads > 0 ? most_threads : usual_threads()) {}

MemoryDesc row_major(const Shape &shape) {
  dnnl::memory::dims strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return {shape, dnnl::memory::data_type::f32, strides};
}

MemoryDesc column_major(int64_t rows, int64_t columns) {
  return {{rows, columns}, dnnl::memory::data_type::f32, dnnl::memory::dims{1, rows}};
}

dnnl::primitive_attr usual_attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

OnednnPrimitive::OnednnPrimitive(std::shared_ptr<OnednnContext> context, dnnl::primitive primitive,
                                 const MemoryDesc &scratchpad)
    : context_(std::move(context)), primitive_(std::move(primitive)) {
  if (scratchpad.get_size() == 0) return;
  memories_.emplace_back(scratchpad, context_->engine);
  arguments_.push_back({DNNL_ARG_SCRATCHPAD, memories_.back().get()});
}

OnednnPrimitive &OnednnPrimitive::with(int argument, const MemoryDesc &desc, void *data) {
  memories_.emplace_back(desc, context_->engine, data);
  arguments_.push_back({argument, memories_.back().get()});
  return *this;
}

void OnednnPrimitive::move(int argument, void *data) {
  for (size_t i = 0; i < arguments_.size(); ++i)
    if (arguments_[i].arg == argument) memories_[i].set_data_handle(data);
}

void OnednnPrimitive::run() const {
  const ThreadLimit limit(context_->threads);
  const dnnl_status_t status =
      dnnl_primitive_execute(primitive_.get(), context_->stream.get(),
                             static_cast<int>(arguments_.size()), arguments_.data());
  if (status != dnnl_success)
    throw Error(status == dnnl_out_of_memory ? Code::no_memory : Code::internal,
                "computing with oneDNN: it ended with status " + std::to_string(status));
}

OnednnPrimitive reordering(const std::shared_ptr<OnednnContext> &context, const MemoryDesc &from,
                           void *from_data, const MemoryDesc &to, void *to_data) {
  const dnnl::reorder::primitive_desc prepared(context->engine, from, context->engine, to,
                                               usual_attributes());
  OnednnPrimitive made(context, dnnl::reorder(prepared), prepared.scratchpad_desc());
  made.with(DNNL_ARG_FROM, from, from_data).with(DNNL_ARG_TO, to, to_data);
  return made;
}

}  // namespace det::nn
