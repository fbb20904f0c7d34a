#include "core/trial/workloads/sequencer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/error.h"

namespace det::trial {

namespace {

bool flag(const Json &section, const char *key, bool otherwise) {
  const auto found = section.find(key);
  if (found == section.end() || found->is_null()) return otherwise;
  if (!found->is_boolean())
    refuse_config(std::string(key) + " is " + to_wire(*found) + "; give true or false");
  return found->get<bool>();
}

CheckpointPolicy policy_in(const Json &config) {
  const auto found = config.find("checkpoint_policy");
  if (found == config.end() || found->is_null() || *found == "best") return CheckpointPolicy::best;
  if (*found == "all") return CheckpointPolicy::all;
  if (*found == "none") return CheckpointPolicy::none;
  refuse_config("checkpoint_policy is " + to_wire(*found) + "; give best, all or none");
}

}  // namespace

SequencerConfig read_sequencer_config(const Json &config, int64_t global_batch_size) {
  if (global_batch_size < 1)
    refuse_config("the global batch size is " + std::to_string(global_batch_size) +
                  "; give 1 or more");
  SequencerConfig read;
  read.lengths = {global_batch_size, whole_number(config, "records_per_epoch", 0)};
  read.unit = context::configured_units(config);
  read.scheduling_unit = whole_number(config, "scheduling_unit", read.scheduling_unit);
  if (read.scheduling_unit < 1) refuse_config("scheduling_unit is 0; give 1 or more");
  read.validation_period = read.lengths.period(config, "min_validation_period");
  read.checkpoint_period = read.lengths.period(config, "min_checkpoint_period");
  read.policy = policy_in(config);
  read.initial_validation = flag(config, "perform_initial_validation", false);
  const auto searcher = config.find("searcher");
  if (searcher == config.end() || !searcher->is_object() || !searcher->contains("metric") ||
      !searcher->at("metric").is_string())
    refuse_config("there is no searcher.metric, which names the validation metric to go by");
  read.metric = searcher->at("metric").get<std::string>();
  read.smaller_is_better = flag(*searcher, "smaller_is_better", true);
  // Not only where the first operation comes: epochs of unknown size are an error from the start.
  read.lengths.in_batches(read.unit, 1, "the length in searcher.max_length");
  return read;
}

Sequencer::Sequencer(SequencerConfig config, int64_t trial_id, CoreCalls &core)
    : config_(std::move(config)),
      trial_id_(trial_id),
      core_(core),
      last_validation_(core.last_validation()) {
  if (config_.unit == Unit::none)
    core_.warn("the searcher's lengths have no unit in the configuration; taking them for epochs");
}

std::optional<Workload> Sequencer::next() {
  check_whole("asking for the next workload");
  if (pending_)
    throw Error(Code::state, "asking for the next workload: the one before has no response yet");
  if (wants_checkpoint_) {
    pending_ = save(stage_);
    wants_checkpoint_ = false;
    after_validation_ = true;
  } else {
    pending_ = step();
  }
  return pending_;
}

std::optional<Workload> Sequencer::step() {
  for (;;) switch (stage_) {
      case Stage::start:
        if (config_.initial_validation && !last_validation_ && steps_ == 0)
          return validate(Stage::operation);
        stage_ = Stage::operation;
        break;
      case Stage::operation: {
        const std::optional<int64_t> length = core_.next_operation();
        operation_.reset();
        completed_ = false;
        stage_ = Stage::ended;
        if (!length) break;
        operation_ = config_.lengths.in_batches(config_.unit, *length, "the searcher's length");
        stage_ = Stage::training;
        break;
      }
      case Stage::training:
        if (until_operation() > 0) return train();
        stage_ = Stage::final_checkpoint;
        break;
      case Stage::periodic_validation:
        if (until_validation() < 1) return validate(Stage::periodic_checkpoint);
        stage_ = Stage::periodic_checkpoint;
        break;
      case Stage::periodic_checkpoint:
        if (until_checkpoint() < 1) return save(Stage::training);
        stage_ = Stage::training;
        break;
      case Stage::final_checkpoint:
        if (last_saved_ != steps_) return save(Stage::final_validation);
        stage_ = Stage::final_validation;
        break;
      case Stage::final_validation:
        if (last_validated_ != steps_) return validate(Stage::end_of_operation);
        stage_ = Stage::end_of_operation;
        break;
      case Stage::end_of_operation:
        // One that was validated in an earlier run has nothing to be completed with.
        stage_ = completed_ ? Stage::operation : Stage::ended;
        break;
      case Stage::leaving:
        if (last_saved_ != steps_) return save(Stage::ended);
        stage_ = Stage::ended;
        break;
      default:
        return std::nullopt;
    }
}

Workload Sequencer::train() {
  core_.set_status("training");
  stage_ = Stage::periodic_validation;
  const int64_t batches = std::min(
      {until_checkpoint(), until_validation(), until_operation(), config_.scheduling_unit});
  return {Workload::Kind::train, step_id_ + 1, std::max<int64_t>(batches, 1), steps_};
}

Workload Sequencer::validate(Stage then) {
  core_.set_status("validating");
  stage_ = then;
  return {Workload::Kind::validate, step_id_, 0, steps_};
}

// Counted as saved at once, so that the state that is saved says so.
Workload Sequencer::save(Stage then) {
  core_.set_status("checkpointing");
  stage_ = then;
  last_saved_ = steps_;
  return {Workload::Kind::checkpoint, step_id_, 0, steps_};
}

void Sequencer::check_whole(const char *call) const {
  if (stage_ == Stage::failed)
    throw Error(Code::state, std::string(call) +
                                 ": an earlier response failed, and how much of it was reported is "
                                 "not known; start again from the latest checkpoint");
}

const Workload &Sequencer::pending(const char *call) const {
  check_whole(call);
  if (!pending_)
    throw Error(Code::state, std::string(call) + ": there is no workload that waits for one");
  return *pending_;
}

void Sequencer::respond(const Json &given) {
  const Workload::Kind kind = pending("responding to a workload").kind;
  const Response response = read_response(kind, given, config_.metric);
  const Stage then = std::exchange(stage_, Stage::failed);
  bool goes_on = true;
  if (kind == Workload::Kind::train) goes_on = trained(response);
  else if (kind == Workload::Kind::validate) goes_on = validated(response);
  else if (then != Stage::ended) goes_on = saved(response);
  stage_ = goes_on ? then : Stage::leaving;
  pending_.reset();
}

void Sequencer::respond_invalid_hparams() {
  check_whole("responding that hyperparameters are invalid");
  const bool was_validating = pending_ && pending_->kind == Workload::Kind::validate;
  stage_ = Stage::failed;
  core_.report_invalid_hparams();
  pending_.reset();
  // Of a workload that was trained in part there is no checkpoint: its steps are not counted.
  stage_ = was_validating ? Stage::leaving : Stage::ended;
}

bool Sequencer::trained(const Response &response) {
  steps_ += pending_->batches;
  ++step_id_;
  core_.report_training(steps_, response.metrics, response.batches);
  core_.report_progress(progress());
  return !response.stop_requested && !core_.should_preempt();
}

double Sequencer::progress() const {
  const auto steps = static_cast<double>(steps_);
  if (config_.unit == Unit::batches) return steps;
  if (config_.unit == Unit::records)
    return steps * static_cast<double>(config_.lengths.global_batch_size);
  return steps / static_cast<double>(config_.lengths.in_batches(Unit::epochs, 1, "an epoch"));
}

bool Sequencer::is_better(double metric) const {
  const std::optional<double> best = core_.best_validation();
  return !best || (config_.smaller_is_better ? metric < *best : metric > *best);
}

bool Sequencer::validated(const Response &response) {
  const Json &metric = response.metrics.at(config_.metric);
  if (operation_ && until_operation() < 1) {
    core_.report_completed(metric);
    completed_ = true;
  }
  bool is_worth_saving = config_.policy == CheckpointPolicy::all;
  const bool is_saved = last_saved_ == steps_;
  // Asked before this one is reported, which would be the best at once.
  if (config_.policy == CheckpointPolicy::best && !is_saved)
    is_worth_saving = is_better(metric.get<double>());
  last_validated_ = steps_;
  core_.report_validation(steps_, response.metrics);
  if (response.stop_requested) return false;
  wants_checkpoint_ = is_worth_saving && !is_saved;
  return wants_checkpoint_ || !core_.should_preempt();
}

bool Sequencer::saved(const Response &response) {
  const bool after_validation = std::exchange(after_validation_, false);
  if (response.stop_requested || core_.should_preempt()) return false;
  // Asked for the validation too, as the original does.
  return !after_validation || !core_.should_preempt();
}

Json Sequencer::state() const {
  return {{"trial_id", trial_id_},
          {"last_ckpt", last_saved_},
          {"steps_completed", steps_},
          {"step_id", step_id_},
          {"last_val", last_validated_}};
}

void Sequencer::load_state(const Json &state) {
  if (stage_ != Stage::start)
    throw Error(Code::state, "loading the state of a sequencer: workloads were asked for already");
  constexpr std::array names{"trial_id", "last_ckpt", "steps_completed", "step_id", "last_val"};
  std::array<int64_t, names.size()> values{};
  for (size_t i = 0; i < names.size(); ++i) {
    const auto found = state.find(names[i]);
    if (found == state.end() || !found->is_number_integer() || *found < 0 || *found > endless)
      throw Error(Code::invalid, std::string("loading the state of a sequencer: ") + names[i] +
                                     " must be a whole number from 0 on");
    values[i] = found->get<int64_t>();
  }
  if (values[0] != trial_id_) return;  // a warm start
  last_saved_ = values[1];
  steps_ = values[2];
  step_id_ = values[3];
  last_validated_ = values[4];
  // Validated after that checkpoint was saved.
  if (last_validation_ == steps_) last_validated_ = steps_;
}

}  // namespace det::trial
