#include "wrappers/nn/executable.h"

#include "core/base/error.h"
#include "wrappers/nn/assembly.h"

namespace det::nn {

Executable::Executable(const Program &program, const Weights &weights, Backend &backend,
                       const StepState &state, std::optional<size_t> loss)
    : backend_(backend) {
  Assembly assembly(program, weights, backend);
  for (size_t i = 0; i < program.results.size(); ++i)
    if (!loss || i == *loss) assembly.begin_gradient_at(i);
  assembly.give_memory();
  fed_ = assembly.exchanged(program.fed, sent_);
  assembly.set_fed(fed_);
  steps_.resize(program.steps.size());
  for (size_t i = steps_.size(); i-- > 0;) {
    steps_[i] = assembly.make_step(i, state);
    // A plain loop joins nothing.
    if (const auto rounding = assembly.roundings().done_by(i); rounding && steps_[i].is_on_host)
      steps_[*rounding].is_computed = true;
  }
  fed_gradients_ = assembly.gradients_of(program.fed);
  results_ = assembly.exchanged(program.results, received_);
  for (const ExecutableStep &step : steps_) {
    if (step.is_on_host) is_recorded_ = false;
    for (const ExecutableStep::Addition &addition : step.additions)
      if (!addition.kernel) is_recorded_ = false;
  }
  result_gradients_ = assembly.gradients_of(program.results);
  // Kernels may have begun to work as they were made.
  backend.synchronize();
  if (loss && result_gradients_.at(*loss)) result_gradients_[*loss].data()[0] = 1;
}

const std::string &Executable::layer_of(size_t step) const { return steps_.at(step).layer; }

void Executable::check_fed() const {
  for (const ExecutableStep &step : steps_) {
    if (!step.check) continue;
    try {
      step.check();
    } catch (const Error &refusal) {
      throw Error(refusal.code, "calling the layer " + step.layer + ": " + refusal.what());
    }
  }
}

template <class Work>
void Executable::run(std::unique_ptr<Recording> &recording, const Work &work) {
  if (!recording && is_recorded_) recording = backend_.make_recording();
  // Who makes none is not asked again.
  if (!recording) is_recorded_ = false;
  if (recording) recording->run(work);
  else work();
}

void Executable::give_forward() {
  for (const Exchange &one : sent_) backend_.copy(one.process, one.kernels);
  for (const ExecutableStep &step : steps_) {
    if (!step.is_computed) continue;
    if (step.is_on_host) backend_.synchronize();
    step.kernel->forward();
  }
  for (const Exchange &one : received_) backend_.copy(one.kernels, one.process);
}

void Executable::give_backward(const std::function<void(size_t weight)> &on_weight) {
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if (step->is_differentiated) {
      if (step->is_on_host) backend_.synchronize();
      step->kernel->backward();
      for (const ExecutableStep::Addition &addition : step->additions) addition.add(backend_);
    }
    if (!on_weight || step->weights.empty()) continue;
    backend_.synchronize();
    for (const size_t weight : step->weights) on_weight(weight);
  }
}

void Executable::forward() {
  run(forward_, [this] { give_forward(); });
  backend_.synchronize();
}

void Executable::backward() {
  run(backward_, [this] { give_backward({}); });
  backend_.synchronize();
}

void Executable::start_gradients(const std::function<void(size_t weight)> &on_weight) {
  if (on_weight) {
    run(forward_, [this] { give_forward(); });
    give_backward(on_weight);
    return;
  }
  run(gradients_, [this] {
    give_forward();
    give_backward({});
  });
}

}  // namespace det::nn
