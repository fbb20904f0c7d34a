#include "wrappers/keras/checkpoints/trial_files.h"

#include <fstream>
#include <iterator>

#include "core/base/error.h"
#include "wrappers/keras/checkpoints/weights_copy.h"
#include "wrappers/nn/capi/model_handle.h"
#include "wrappers/nn/files/model_files.h"

namespace det::keras {

namespace {

constexpr const char *load_data_file = "load_data.json";

void read_weights(det_tensors *tensors, det_nn_model &model) {
  const Handle<det_tensors, det_tensors_free> owned(tensors);
  const std::span<const det_tensor> wanted = model.lend_weights();
  call(det_tensors_read, tensors, wanted.data(), wanted.size(), nullptr);
}

}  // namespace

const ModelFiles &files_of_keras() {
  static const ModelFiles files{"model.json", "determined-keras-model-weights.safetensors",
                                "determined-keras-optimizer-weights.safetensors"};
  return files;
}

void write_json(const std::filesystem::path &path, const Json &value) {
  std::ofstream file(path, std::ios::binary);
  file << text_with_bare_numbers(value) << '\n';
  file.close();
  if (!file) throw Error(Code::io, "writing '" + path.string() + "': the file system refused it");
}

Json read_json(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) throw Error(Code::invalid, "reading '" + path.string() + "': there is no such file");
  try {
    return parse_json(text, path.string());
  } catch (const Error &) {
    throw Error(Code::invalid, "reading '" + path.string() + "': it is no JSON");
  }
}

void save_model(det_checkpoint_writer *checkpoint, det_nn_model &model, const ModelFiles &files) {
  const std::filesystem::path directory = det_checkpoint_writer_path(checkpoint);
  write_json(directory / files.model, nn::write_model(model.impl.graph()));
  const std::span<const det_tensor> weights = model.lend_weights();
  call(det_tensors_write, checkpoint, files.weights.c_str(), weights.data(), weights.size(),
       nullptr);
  nn::save_training_state(model.impl, directory / files.training_state);
}

void load_model(det_checkpoint_reader *checkpoint, det_nn_model &model, const ModelFiles &files) {
  const WeightsCopy before(model);
  det_tensors *tensors = nullptr;
  call(det_tensors_open, checkpoint, files.weights.c_str(), &tensors);
  read_weights(tensors, model);
  try {
    const std::filesystem::path directory = det_checkpoint_reader_path(checkpoint);
    nn::load_training_state(model.impl, directory / files.training_state);
  } catch (...) {
    before.restore(model);
    throw;
  }
}

void write_load_data(const std::filesystem::path &directory, const Trial &trial) {
  write_json(directory / load_data_file,
             {{"trial_type", trial.kind()},
              {"experiment_config", trial.config()},
              {"hparams", parse_json(det_info_hparams_json(trial.info()), "the hyperparameters")}});
}

void check_kind(const std::filesystem::path &directory, const std::string &kind) {
  const std::string where = "reading the checkpoint '" + directory.string() + "': ";
  if (!std::filesystem::exists(directory / load_data_file))
    throw Error(Code::invalid, where + "it has no " + load_data_file +
                                   ", which every checkpoint of a trial has; download one whole");
  const Json said = read_json(directory / load_data_file);
  const std::string found =
      said.is_object() && said.contains("trial_type") && said["trial_type"].is_string()
          ? said["trial_type"].get<std::string>()
          : "something else";
  if (found != kind)
    throw Error(Code::invalid, where + "it is of " + found + ", and not of " + kind);
}

std::unique_ptr<det_nn_model> load_trained_model(const std::filesystem::path &directory) {
  check_kind(directory, "det::keras::Trial");
  auto model = std::make_unique<det_nn_model>(read_json(directory / files_of_keras().model),
                                              nn::ModelOptions());
  det_tensors *tensors = nullptr;
  call(det_tensors_open_path, (directory / files_of_keras().weights).c_str(), &tensors);
  read_weights(tensors, *model);
  return model;
}

}  // namespace det::keras
