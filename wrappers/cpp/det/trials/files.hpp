// Files of checkpoints of every kind of trial: written by the chief, read by all ranks.
#pragma once

#include <det/core.hpp>
#include <det/nlohmann_json.hpp>
#include <det/nn.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace det {
inline namespace v1 {
namespace trials {

inline constexpr const char *sequencer_file = "workload_sequencer.json";
inline constexpr const char *load_data_file = "load_data.json";
inline constexpr const char *metadata_file = "metadata.json";  // which the core writes

// Names of the files of a model.
struct ModelFiles {
  const char *model;
  const char *weights;
  const char *training_state;  // of the optimizer and the counts of steps
};

// Whether a file of that name is in every checkpoint of a trial.
[[nodiscard]] inline bool is_of_checkpoints(const std::string &name, const ModelFiles &files) {
  return name == files.model || name == files.weights || name == files.training_state ||
         name == sequencer_file || name == load_data_file || name == metadata_file;
}

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
  model.save_training_state((directory / files.training_state).string());
}

// Into a model that is compiled as the one that was saved. Nothing of another model is read: the
// library names what differs, and the model stays as it was.
inline void load_model(const Restore &restore, const nn::Model &model, const ModelFiles &files) {
  const std::vector<Tensor> weights = model.weights();
  std::vector<float> before;
  for (const Tensor &weight : weights) {
    const auto *first = static_cast<const float *>(weight.data);
    before.insert(before.end(), first, first + weight.elements());
  }
  Tensors(restore, files.weights).read(weights);
  try {
    const std::filesystem::path directory = restore.path();
    model.load_training_state((directory / files.training_state).string());
  } catch (...) {
    const float *next = before.data();
    for (const Tensor &weight : weights) {
      std::copy_n(next, weight.elements(), static_cast<float *>(weight.data));
      next += weight.elements();
    }
    throw;
  }
}

}  // namespace trials
}  // namespace v1
}  // namespace det
