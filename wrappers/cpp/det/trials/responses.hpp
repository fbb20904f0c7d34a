// What trials of every kind answer to their workloads: what det_trial_sequencer_respond() takes.
#pragma once

#include <det/trials/context.hpp>
#include <det/trials/ranks.hpp>

namespace det {
inline namespace v1 {
namespace trials {

// Of all ranks, in step, unless the configuration's `optimizations` want the chief's.
[[nodiscard]] inline nn::Metrics of_training(const DistributedView &job,
                                             const nlohmann::ordered_json &config,
                                             const nn::Metrics &metrics) {
  const nlohmann::ordered_json given = section(config, "optimizations");
  return given.value("average_training_metrics", true) ? averaged(job, metrics) : metrics;
}

[[nodiscard]] inline nlohmann::ordered_json trained(const TrialContext &context, int64_t batches,
                                                    const nlohmann::ordered_json &each,
                                                    const nn::Metrics &metrics) {
  return {{"metrics",
           {{"num_inputs", batches * context.get_global_batch_size()},
            {"batch_metrics", each},
            {"avg_metrics", metrics}}},
          {"stop_requested", context.get_stop_requested()}};
}

[[nodiscard]] inline nlohmann::ordered_json validated(const TrialContext &context, int64_t batches,
                                                      const nlohmann::ordered_json &metrics) {
  return {{"metrics",
           {{"num_inputs", batches * context.get_global_batch_size()},
            {"validation_metrics", metrics}}},
          {"stop_requested", context.get_stop_requested()}};
}

[[noreturn]] inline void refuse_validation(const DistributedView &job) {
  throw std::invalid_argument("validating a trial: there are no batches to validate with" +
                              (job.size() == 1
                                   ? std::string()
                                   : " on rank " + std::to_string(job.rank()) + "; each of " +
                                         std::to_string(job.size()) + " ranks needs one"));
}

// The chief has `write` write a checkpoint; the other ranks have nothing to do.
template <class Write>
[[nodiscard]] nlohmann::ordered_json saved(const TrialContext &context, int64_t batches,
                                           const char *format, const Write &write) {
  if (context.distributed().rank() != 0) return nlohmann::ordered_json::object();
  const nlohmann::ordered_json metadata = {
      {"steps_completed", batches},
      {"framework", std::string("det-native-") + det_version_string()},
      {"format", format}};
  const CheckpointWriter store = context.core().checkpoint().write(metadata);
  write(store);
  const std::string id = store.id();
  store.commit();
  return {{"uuid", id}};
}

}  // namespace trials
}  // namespace v1
}  // namespace det
