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
  try {
    return Json(text).as<nlohmann::ordered_json>();
  } catch (const nlohmann::json::exception &) {
    throw std::runtime_error("reading '" + path.string() + "': it is no JSON");
  }
}

// The weights of a model as they were at some time.
class WeightsCopy {
 public:
  explicit WeightsCopy(const nn::Model &model) {
    for (const Tensor &weight : model.weights()) {
      const auto *first = static_cast<const float *>(weight.data);
      numbers_.insert(numbers_.end(), first, first + weight.elements());
    }
  }
  // Of the file that save() wrote.
  [[nodiscard]] static WeightsCopy load(const nn::Model &model, const std::filesystem::path &path) {
    WeightsCopy copy(model);
    std::vector<Tensor> wanted = model.weights();
    float *next = copy.numbers_.data();
    for (Tensor &weight : wanted) {
      weight.data = next;
      next += weight.elements();
    }
    Tensors(path).read(wanted);
    return copy;
  }

  // Into the model that it is of.
  void restore(const nn::Model &model) const {
    const float *next = numbers_.data();
    for (const Tensor &weight : model.weights()) {
      std::copy_n(next, weight.elements(), static_cast<float *>(weight.data));
      next += weight.elements();
    }
  }
  // Through the model, whose weights are then what they were.
  void save(const nn::Model &model, const std::filesystem::path &path) const {
    const WeightsCopy now(model);
    restore(model);
    model.save_weights(path.string());
    now.restore(model);
  }

 private:
  std::vector<float> numbers_;
};

inline void save_model(const CheckpointWriter &store, const nn::Model &model,
                       const ModelFiles &files) {
  const std::filesystem::path directory = store.path();
  write_text(directory / files.model, model.to_json().text());
  write_tensors(store, files.weights, model.weights());
  model.save_training_state((directory / files.training_state).string());
}

// Into a model that is compiled as the one that was saved. Nothing of another model is read: the
// library names what differs, and the model stays as it was.
inline void load_model(const CheckpointReader &restore, const nn::Model &model,
                       const ModelFiles &files) {
  const WeightsCopy before(model);
  Tensors(restore, files.weights).read(model.weights());
  try {
    const std::filesystem::path directory = restore.path();
    model.load_training_state((directory / files.training_state).string());
  } catch (...) {
    before.restore(model);
    throw;
  }
}

}  // namespace trials
}  // namespace v1
}  // namespace det
