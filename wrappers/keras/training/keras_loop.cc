#include "wrappers/keras/training/keras_loop.h"

#include <algorithm>
#include <cmath>

#include "wrappers/keras/callbacks/known_callbacks.h"
#include "wrappers/keras/checkpoints/trial_files.h"

namespace det::keras {

namespace {

constexpr const char *callbacks_file = "determined-callbacks.v1.json";

Share share_of(const Trial &trial) {
  return {trial.rank(), trial.ranks(), static_cast<uint32_t>(det_info_trial_seed(trial.info()))};
}

// Those of a functional model; a sequential one has a single input, whatever it is called.
std::vector<std::string> input_names_of(const det_nn_model &model) {
  std::vector<std::string> names;
  const Json config = nn::write_model(model.impl.graph()).at("config");
  if (!config.contains("input_layers")) return names;
  for (const auto &input : config["input_layers"]) names.push_back(input.at(0).get<std::string>());
  return names;
}

std::vector<std::shared_ptr<Callback>> with_printer(std::vector<std::shared_ptr<Callback>> all,
                                                    const FitOptions &fit) {
  if (fit.verbose) all.insert(all.begin(), progress_printer());
  return all;
}

std::optional<int64_t> batches_per_epoch_of(const Trial &trial) {
  const auto records = trial.config().find("records_per_epoch");
  if (records == trial.config().end() || !records->is_number_integer() ||
      records->get<int64_t>() <= 0)
    return std::nullopt;
  return std::max<int64_t>(1, records->get<int64_t>() / trial.sizes().global);
}

}  // namespace

KerasLoop::KerasLoop(Trial &trial, const Description &said, const FitOptions &fit)
    : trial_(trial),
      model_(*said.model),
      fit_(fit),
      training_(said.training, share_of(trial), fit),
      validation_(said.validation, share_of(trial), fit),
      input_names_(input_names_of(model_)),
      callbacks_(with_printer(said.callbacks, fit), trial, model_),
      batches_per_epoch_(batches_per_epoch_of(trial)) {}

const Loop::Names &KerasLoop::names() const {
  static const Names names{"saved_weights", files_of_keras()};
  return names;
}

// A model that does not say what comes in gets its weights by the first batch.
det_nn_model &KerasLoop::begin(const Checkpoint & /*checkpoint*/) {
  if (!model_.impl.is_built()) model_.impl.predict_on_batch(in_order(training_.first()).inputs);
  return model_;
}

void KerasLoop::start(RanksInStep &ranks, const Checkpoint &checkpoint) {
  ranks_ = &ranks;
  tell(DET_KERAS_TRAIN_BEGIN);
  if (checkpoint) {
    const Json states = read_json(*checkpoint / callbacks_file);
    callbacks_.load_states(states.at("callbacks"));
    progress_ = {states.at("epoch").get<int64_t>(), states.at("batches_of_epoch").get<int64_t>(),
                 states.at("total_batches").get<int64_t>(),
                 states.at("wants_epoch_begin").get<bool>()};
    callbacks_.tell({.kind = DET_KERAS_CHECKPOINT_LOAD, .directory = &*checkpoint});
  }
  next_to_train_ = training_.training(det_info_steps_completed(trial_.info()));
}

Loop::Trained KerasLoop::train(int64_t batches) {
  model_.impl.training().reset_metrics();
  Json each = Json::array();
  for (int64_t batch = 0; batch < batches; ++batch) {
    if (std::exchange(progress_.wants_epoch_begin, false))
      tell(DET_KERAS_EPOCH_BEGIN, progress_.epoch);
    if (batch == 0) tell(DET_KERAS_WORKLOAD_BEGIN, progress_.total_batches, nullptr, batches);
    tell(DET_KERAS_BATCH_BEGIN, progress_.batches_of_epoch);
    train_one();
    const Metrics so_far = metrics();
    each.push_back(so_far);
    tell(DET_KERAS_BATCH_END, progress_.batches_of_epoch, &so_far);
    ++progress_.total_batches;
    if (++progress_.batches_of_epoch == batches_per_epoch_) {
      tell(DET_KERAS_EPOCH_END, progress_.epoch);
      ++progress_.epoch;
      progress_.batches_of_epoch = 0;
      progress_.wants_epoch_begin = true;
    }
  }
  const Metrics averages = averaged(trial_.averaged_of_training(metrics()));
  tell(DET_KERAS_WORKLOAD_END, progress_.total_batches, &averages);
  return {std::move(each), averages};
}

void KerasLoop::train_one() {
  std::optional<TrialBatch> next = next_to_train_();
  if (!next) throw Error(Code::state, "training a trial: there are no more batches");
  TrialBatch batch = in_order(std::move(*next));
  batch.class_weights = fit_.class_weights.empty() ? batch.weights_of_classes : fit_.class_weights;
  ranks_->train_on_batch(batch);
}

Loop::Validated KerasLoop::validate(std::optional<int64_t> most) {
  ranks_->share_untrained(model_);
  model_.impl.training().reset_metrics();
  tell(DET_KERAS_TEST_BEGIN);
  const Feed::Next next = validation_.validation(most);
  int64_t batches = 0;
  for (; std::optional<TrialBatch> records = next(); ++batches) {
    tell(DET_KERAS_TEST_BATCH_BEGIN, batches);
    TrialBatch batch = in_order(std::move(*records));
    batch.class_weights = batch.weights_of_classes;
    model_.test_on_batch(batch);
    const Metrics so_far = metrics();
    tell(DET_KERAS_TEST_BATCH_END, batches, &so_far);
  }
  check_validation(trial_, batches);
  Metrics named;
  for (const auto &[name, value] : averaged(trial_.averaged(metrics())))
    named["val_" + name] = value;
  tell(DET_KERAS_TEST_END, 0, &named);
  return {batches, named};
}

void KerasLoop::save(const std::filesystem::path &directory) {
  const Json states = {{"epoch", progress_.epoch},
                       {"batches_of_epoch", progress_.batches_of_epoch},
                       {"total_batches", progress_.total_batches},
                       {"wants_epoch_begin", progress_.wants_epoch_begin},
                       {"callbacks", callbacks_.states()}};
  callbacks_.tell({.kind = DET_KERAS_CHECKPOINT_END, .directory = &directory});
  write_json(directory / callbacks_file, states);
}

void KerasLoop::end(bool has_failed) {
  if (!has_failed) tell(DET_KERAS_TRAIN_END);
}

// As the model takes its inputs: by their names where they have some, without those that it does
// not know. Throws Code::invalid, with the names that there are, where one is missing.
TrialBatch KerasLoop::in_order(TrialBatch batch) const {
  if (batch.input_names.empty() || input_names_.empty() || batch.input_names == input_names_)
    return batch;
  std::vector<nn::Array> inputs;
  for (const std::string &name : input_names_) {
    const auto found = std::ranges::find(batch.input_names, name);
    if (found == batch.input_names.end()) {
      std::string known;
      for (const std::string &one : batch.input_names)
        known += (known.empty() ? "'" : ", '") + one + "'";
      throw Error(Code::invalid,
                  "reading a batch: it has no feature '" + name + "'; it has " + known);
    }
    inputs.push_back(batch.inputs.at(static_cast<size_t>(found - batch.input_names.begin())));
  }
  batch.inputs = std::move(inputs);
  batch.input_names = input_names_;
  return batch;
}

// Of this rank, since they were reset.
Metrics KerasLoop::metrics() const {
  Metrics metrics;
  for (size_t i = 0; i < model_.metric_names.size(); ++i)
    metrics.emplace(model_.metric_names[i], model_.impl.training().metric(i));
  return metrics;
}

Metrics KerasLoop::averaged(const Json &of_all_ranks) const {
  Metrics means;
  for (const auto &[name, mean] : of_all_ranks.items())
    means[name] = mean.is_number() ? mean.get<double>() : std::nan("");
  return means;
}

void KerasLoop::tell(det_keras_event_kind kind, int64_t index, const Metrics *metrics,
                     int64_t batches) const {
  callbacks_.tell({.kind = kind, .index = index, .batches = batches, .metrics = metrics});
}

}  // namespace det::keras
