// The base of the contexts of all trials. Follows TrialContext.
#pragma once

#include <det/keras.h>
#include <det/core.hpp>
#include <det/nn.hpp>
#include <det/nn/dataset.hpp>
#include <det/trials/dataset_cache.hpp>

#include <filesystem>
#include <stdexcept>

namespace det {
inline namespace v1 {

class TrialContext {
 public:
  TrialContext(const TrialContext &) = delete;
  TrialContext &operator=(const TrialContext &) = delete;

  template <class T>
  [[nodiscard]] T get_hparam(Text name) const {
    return core_.info().hparams().get<T>(name);
  }
  [[nodiscard]] Json get_hparams() const { return core_.info().hparams().json(); }
  [[nodiscard]] Json get_experiment_config() const { return core_.info().config_json(); }
  // The section `data` of the configuration, an object. Empty if it is missing.
  [[nodiscard]] Json get_data_config() const {
    return trials::section(get_experiment_config().as<nlohmann::ordered_json>(), "data");
  }
  [[nodiscard]] int64_t get_experiment_id() const { return core_.info().experiment_id(); }
  [[nodiscard]] int64_t get_trial_id() const { return core_.info().trial_id(); }
  [[nodiscard]] int64_t get_trial_seed() const { return core_.info().trial_seed(); }
  // The batches that were trained before this process started.
  [[nodiscard]] int64_t get_initial_batch() const { return core_.info().steps_completed(); }
  [[nodiscard]] int64_t get_global_batch_size() const {
    return det_keras_global_batch_size(context_.get());
  }
  [[nodiscard]] int64_t get_per_slot_batch_size() const {
    return det_keras_per_slot_batch_size(context_.get());
  }
  // True: the trial ends after the workload, with a checkpoint.
  [[nodiscard]] bool get_stop_requested() const {
    return det_keras_stop_requested(context_.get()) != 0;
  }
  void set_stop_requested(bool stop) { det_keras_set_stop_requested(context_.get(), stop ? 1 : 0); }
  // The directory in which this rank may write files for TensorBoard.
  [[nodiscard]] std::filesystem::path get_tensorboard_path() const {
    return core_.train().get_tensorboard_path();
  }
  [[nodiscard]] DistributedView distributed() const { return core_.distributed(); }
  [[nodiscard]] const Core &core() const { return core_; }
  [[nodiscard]] det_keras_context *capi() const noexcept { return context_.get(); }

  // Returns it unchanged. Gradients of ranks are added up below every optimizer.
  [[nodiscard]] nn::Optimizer wrap_optimizer(nn::Optimizer optimizer) {
    has_wrapped_optimizer_ = true;
    return optimizer;
  }
  // Call it for each dataset of a trial, before or after its batch(). Each rank then gets its share
  // of the records or batches, or all of them.
  [[nodiscard]] nn::Dataset wrap_dataset(nn::Dataset dataset, bool shard_dataset = true) {
    has_wrapped_dataset_ = true;
    if (!shard_dataset || distributed().size() == 1) return dataset;
    return dataset.shard(distributed().size(), distributed().rank());
  }

  // Returns itself, for programs that use Determined's experimental functions.
  [[nodiscard]] TrialContext &experimental() { return *this; }

  // The training data: this rank's share, which is as large as that of every other rank. `make` is
  // called only if no file has the records of that id and version. Shuffled records have another
  // order in each epoch. Batch the result, but do not pass it to wrap_dataset(). Call it once in a
  // trial.
  [[nodiscard]] nn::Dataset cache_train_dataset(const std::string &id, const std::string &version,
                                                const MakeDataset &make, bool shuffle = false,
                                                bool skip_shuffle_at_epoch_end = false) {
    if (std::exchange(has_cached_dataset_, true))
      throw std::logic_error("caching a dataset: the training data of a trial are cached once");
    DatasetReaderOptions options;
    options.shuffle = shuffle;
    options.same_order = skip_shuffle_at_epoch_end;
    options.drop_remainder = true;
    return cached(id, version + "_train", make, options);
  }
  // The same, always in the same order, and with all records.
  [[nodiscard]] nn::Dataset cache_validation_dataset(const std::string &id,
                                                     const std::string &version,
                                                     const MakeDataset &make,
                                                     bool shuffle = false) {
    DatasetReaderOptions options;
    options.shuffle = shuffle;
    options.same_order = true;
    return cached(id, version + "_val", make, options);
  }

  // For the library.
  [[nodiscard]] bool has_wrapped_optimizer() const { return has_wrapped_optimizer_; }
  // Throws std::logic_error if wrap_dataset() was not called. Throws std::invalid_argument for a
  // dataset of single records if a rank trains several side by side.
  void check_dataset(const nn::Dataset &dataset) const {
    if (!has_wrapped_dataset_)
      throw std::logic_error(
          "reading the data of a trial: give datasets to context().wrap_dataset()");
    if (!dataset.is_of_records() || get_per_slot_batch_size() == 1) return;
    // A function of map() may have made a batch of each.
    if (const auto first = dataset.iterate().next(); first && first->records() == 1)
      throw std::invalid_argument(
          "reading the data of a trial: the dataset gives single records, not batches; add "
          ".batch(context().get_per_slot_batch_size())");
  }

 protected:
  // `core` must outlive it. `kind` is a name for errors and checkpoints.
  TrialContext(const Core &core, Text kind, OnFailure on = {}) {
    det_keras_context *made = nullptr;
    detail::call(on, det_keras_context_create, core.capi(), kind.c_str(), &made);
    take(made);
  }
  // For a run of which nothing is kept.
  TrialContext(const Json &config, const Json &hparams, Text kind, OnFailure on = {}) {
    det_keras_context *made = nullptr;
    detail::call(on, det_keras_context_from_config, config.capi(), hparams.capi(), kind.c_str(),
                 &made);
    take(made);
  }
  ~TrialContext() = default;

 private:
  void take(det_keras_context *made) {
    context_.reset(made);
    core_ = Core::borrowed(det_keras_core(made));
  }

  nn::Dataset cached(const std::string &id, const std::string &version, const MakeDataset &make,
                     DatasetReaderOptions options) {
    options.shard = distributed().rank();
    options.shards = distributed().size();
    options.seed = static_cast<uint32_t>(get_trial_seed());
    const auto config = nlohmann::ordered_json::parse(get_experiment_config().text());
    has_wrapped_dataset_ = true;
    return trials::epochs_of(
        trials::cached_dataset(trials::cache_directory(config), id, version, make), options);
  }

  detail::Handle<det_keras_context, det_keras_context_free> context_;
  Core core_;
  bool has_wrapped_optimizer_ = false;
  bool has_wrapped_dataset_ = false;
  bool has_cached_dataset_ = false;
};

}  // namespace v1
}  // namespace det
