// The recorded calls of a det_checkpoint_context. A file in the directory of the scenario tells
// later legs under which ids the recorded checkpoints were stored here.
#pragma once

#include <det/checkpoint.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "tests/rest/leg/check.h"

namespace leg {

namespace fs = std::filesystem;

class Checkpoints : Checked {
 public:
  Checkpoints(det_checkpoint_context *checkpoint, int rank, bool is_sharded, fs::path directory)
      : checkpoint_(checkpoint), rank_(rank), directory_(std::move(directory)) {
    options_.shard = is_sharded ? 1 : 0;
    std::ifstream lines(directory_ / "uuids");
    for (std::string recorded, own; lines >> recorded >> own;) own_[recorded] = own;
  }

  // Where a leg before stored it, it can be read.
  void resume(const std::string &recorded, const std::string &told) {
    if (own_.count(recorded) == 0) return;
    if (told != own_[recorded]) fail("the latest checkpoint is " + told);
    det_checkpoint_reader *restore = nullptr;
    must(det_checkpoint_reader_open(checkpoint_, told.c_str(), nullptr, &restore, &error_));
    det_checkpoint_reader_free(restore);
  }

  // By both of the ways there are, in turn.
  void save(const Json &call) {
    const std::string recorded = call["uuid"], metadata = call["metadata"].dump();
    const std::string id =
        saved_++ % 2 == 0 ? upload(metadata, call["files"]) : store(metadata, call["files"]);
    own_[recorded] = id;
    if (rank_ == 0)
      std::ofstream(directory_ / "uuids", std::ios::app) << recorded << ' ' << id << '\n';
  }

  void check_metadata(const std::string &recorded, const Json &expected) {
    char *text = nullptr;
    const det_status status =
        det_checkpoint_get_metadata(checkpoint_, own(recorded).c_str(), &text, &error_);
    if (expected.is_null()) return expect(status, DET_E_NOT_FOUND);
    must(status);
    const nlohmann::json found = nlohmann::json::parse(text);  // in any order
    det_free(text);
    if (found != nlohmann::json::parse(expected.dump())) fail("it is " + found.dump());
  }

  void remove(const std::string &recorded) {
    must(det_checkpoint_delete(checkpoint_, own(recorded).c_str(), &error_));
  }

 private:
  std::string own(const std::string &recorded) const {
    const auto found = own_.find(recorded);
    return found == own_.end() ? recorded : found->second;
  }

  std::string upload(const std::string &metadata, const Json &files) {
    const fs::path directory = directory_ / ("files-" + std::to_string(getpid()));
    const bool any = write_files(directory, files);
    char *id = nullptr;
    must(det_checkpoint_upload(checkpoint_, any ? directory.c_str() : nullptr, metadata.c_str(),
                               &options_, &id, &error_));
    fs::remove_all(directory);
    return std::unique_ptr<char, void (*)(void *)>(id, det_free).get();
  }

  std::string store(const std::string &metadata, const Json &files) {
    det_checkpoint_writer *store = nullptr;
    must(det_checkpoint_writer_begin(checkpoint_, metadata.c_str(), &options_, &store, &error_));
    write_files(det_checkpoint_writer_path(store), files);
    const std::string id = det_checkpoint_writer_id(store);
    must(det_checkpoint_writer_commit(store, &error_));
    det_checkpoint_writer_free(store);
    return id;
  }

  // Each rank brings the files that have its number in their names; the first one, those without.
  bool brings(const std::string &path) const {
    const size_t digit = path.find_first_of("0123456789");
    return (digit == path.npos ? 0 : path[digit] - '0') == rank_;
  }

  // Whether there was any for this rank. A directory's name ends in '/'.
  bool write_files(const fs::path &directory, const Json &files) const {
    bool any = false;
    for (const auto &[path, size] : files.items()) {
      if (!brings(path)) continue;
      any = true;
      fs::create_directories((directory / path).parent_path());
      if (path.back() != '/') std::ofstream(directory / path) << std::string(size, 'x');
    }
    return any;
  }

  det_checkpoint_context *const checkpoint_;
  const int rank_;
  const fs::path directory_;
  det_checkpoint_options options_ = DET_CHECKPOINT_OPTIONS_INIT;
  std::map<std::string, std::string> own_;  // of recorded ones
  int saved_ = 0;
};

}  // namespace leg
