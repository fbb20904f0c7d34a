// The files of a trial's checkpoint: written by the chief, read by all ranks.
#pragma once

#include <det/keras/callbacks.hpp>
#include <det/trials/context.hpp>
#include <det/trials/files.hpp>
#include <det/trials/load_data.hpp>

namespace det {
inline namespace v1 {
namespace keras {
namespace detail {

inline constexpr trials::ModelFiles model_files = {
    "model.json", "determined-keras-model-weights.safetensors",
    "determined-keras-optimizer-weights.safetensors"};
inline constexpr const char *trial_type = "det::keras::Trial";
inline constexpr const char *callbacks_file = "determined-callbacks.v1.json";

// Where the trial is between two workloads, beside the model.
struct Progress {
  int64_t epoch = 0;
  int64_t batches_of_epoch = 0;
  int64_t total_batches = 0;
  bool wants_epoch_begin = true;
};

inline void save(const CheckpointWriter &store, const det::TrialContext &context,
                 const nn::Model &model, const Callbacks &callbacks, const Progress &progress,
                 const nlohmann::ordered_json &sequencer) {
  const std::filesystem::path directory = store.path();
  trials::save_model(store, model, model_files);
  nlohmann::ordered_json states = {{"epoch", progress.epoch},
                                   {"batches_of_epoch", progress.batches_of_epoch},
                                   {"total_batches", progress.total_batches},
                                   {"wants_epoch_begin", progress.wants_epoch_begin},
                                   {"callbacks", nlohmann::ordered_json::object()}};
  callbacks.for_each([&](const std::string &key, const Callback &callback) {
    const Json state = callback.get_state();
    if (!state.text().empty()) states["callbacks"][key] = state.text();
  });
  callbacks.call(&Callback::on_checkpoint_end, directory);
  trials::write_text(directory / callbacks_file, states.dump());
  trials::write_text(directory / trials::sequencer_file, sequencer.dump());
  trials::write_load_data(directory, trial_type, context);
}

[[nodiscard]] inline Progress load_callbacks(const nlohmann::ordered_json &states,
                                             const Callbacks &callbacks) {
  callbacks.for_each([&](const std::string &key, Callback &callback) {
    const auto found = states.at("callbacks").find(key);
    if (found != states.at("callbacks").end()) callback.load_state(found->get<std::string>());
  });
  return {states.at("epoch").get<int64_t>(), states.at("batches_of_epoch").get<int64_t>(),
          states.at("total_batches").get<int64_t>(), states.at("wants_epoch_begin").get<bool>()};
}

}  // namespace detail

// The model of a checkpoint's directory, with its weights, to predict with. Throws
// std::runtime_error where that is no checkpoint of a det::keras::Trial.
[[nodiscard]] inline nn::Model load_model_from_checkpoint_path(
    const std::filesystem::path &directory) {
  trials::check_kind(directory, detail::trial_type);
  nn::Model model = nn::Model::create(trials::read_json(directory / detail::model_files.model));
  Tensors(directory / detail::model_files.weights).read(model.weights());
  return model;
}

}  // namespace keras
}  // namespace v1
}  // namespace det
