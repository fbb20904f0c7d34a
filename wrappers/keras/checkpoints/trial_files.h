// The files of a trial's checkpoint: written by the chief, read by all ranks.
#pragma once

#include <filesystem>
#include <string>

#include "wrappers/keras/run/running_trial.h"

struct det_nn_model;

namespace det::keras {

inline constexpr const char *sequencer_file = "workload_sequencer.json";

// What a kind of trial calls the files of a model.
struct ModelFiles {
  std::string model;
  std::string weights;
  std::string training_state;  // of the optimizer and the counts of steps
};

// Of a det::keras::Trial.
const ModelFiles &files_of_keras();

void write_json(const std::filesystem::path &path, const Json &value);
// Throws Code::invalid for what is no JSON.
Json read_json(const std::filesystem::path &path);

void save_model(det_checkpoint_writer *checkpoint, det_nn_model &model, const ModelFiles &files);
// Into a model that is compiled as the one that was saved. Nothing of another model is read: the
// library names what differs, and the model stays as it was.
void load_model(det_checkpoint_reader *checkpoint, det_nn_model &model, const ModelFiles &files);

// Which trial a checkpoint is of.
void write_load_data(const std::filesystem::path &directory, const Trial &trial);
// Throws Code::invalid unless a directory has a checkpoint of a trial of this kind.
void check_kind(const std::filesystem::path &directory, const std::string &kind);

// The model of the checkpoint of a det::keras::Trial, with its weights, to predict with. The
// caller's.
std::unique_ptr<det_nn_model> load_trained_model(const std::filesystem::path &directory);

}  // namespace det::keras
