// Files of checkpoints of every kind of trial: written by the chief, read by all ranks.
#pragma once

#include <det/core.hpp>
#include <det/nlohmann_json.hpp>
#include <det/nn.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace det {
inline namespace v1 {
namespace trials {

inline constexpr const char *sequencer_file = "workload_sequencer.json";

// Names of the files of a model.
struct ModelFiles {
  const char *model;
  const char *weights;
  const char *optimizer;
  const char *steps;
};

inline void write_text(const std::filesystem::path &path, const std::string &text) {
  std::ofstream file(path, std::ios::binary);
  file << text << '\n';
  file.close();
  if (!file)
    throw std::runtime_error("writing '" + path.string() + "': the file system refused it");
}

[[nodiscard]] inline nlohmann::ordered_json read_json(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) throw std::runtime_error("reading '" + path.string() + "': there is no such file");
  return nlohmann::ordered_json::parse(text);
}

inline void save_model(const Store &store, const nn::Model &model, const ModelFiles &files) {
  const std::filesystem::path directory = store.path();
  write_text(directory / files.model, model.to_json().text());
  write_tensors(store, files.weights, model.weights());
  if (const auto state = model.optimizer_state(); !state.empty())
    write_tensors(store, files.optimizer, state);
  const nn::Model::Steps steps = model.steps();
  write_text(directory / files.steps,
             nlohmann::ordered_json{{"steps", steps.trained},
                                    {"iterations", steps.iterations},
                                    {"learning_rate", model.learning_rate()}}
                 .dump());
}

// Into a model that is compiled as the one that was saved. Nothing of another model is read: the
// library names what differs.
inline void load_model(const Restore &restore, const nn::Model &model, const ModelFiles &files) {
  Tensors(restore, files.weights).read(model.weights());
  if (const auto state = model.optimizer_state(); !state.empty())
    Tensors(restore, files.optimizer).read(state);
  const auto steps = read_json(std::filesystem::path(restore.path()) / files.steps);
  model.set_steps({steps.at("steps").get<int64_t>(), steps.at("iterations").get<int64_t>()});
  model.set_learning_rate(steps.at("learning_rate").get<double>());
}

}  // namespace trials
}  // namespace v1
}  // namespace det
