// What TensorBoard is given to read: the directories of experiments, and copies of what is in
// buckets.
#pragma once

#include <cstdint>
#include <filesystem>
#include <list>
#include <string>
#include <vector>

#include "core/tensorboard/mirror.h"
#include "library_client.h"

namespace det::cli {

class TensorboardLogdir {
 public:
  // Finds them; what is in buckets comes with refresh(), with the secrets that the store in
  // `store_directory` keeps; empty: a master over HTTP has them. Throws Failure, and Error of the
  // storage.
  TensorboardLogdir(Client &client, std::filesystem::path store_directory,
                    const std::vector<int64_t> &experiments);
  TensorboardLogdir(const TensorboardLogdir &) = delete;
  TensorboardLogdir &operator=(const TensorboardLogdir &) = delete;
  ~TensorboardLogdir();  // removes the copies

  // "--logdir=DIRECTORY", or of several "--logdir_spec=" with a name for each.
  std::string option() const;

  bool has_copies() const { return !copies_.empty(); }
  void refresh(storage::Progress *progress);  // the copies, as Mirror does

  // Says of which experiments nothing is there yet.
  void tell_empty() const;

 private:
  struct Place {
    int64_t experiment;
    std::filesystem::path directory;
    bool there;  // or a copy, which shows by itself
    const tensorboard::Mirror *copy = nullptr;
  };
  void add_experiment(Client &client, int64_t id);
  const tensorboard::Mirror &copy(Client &client, const Json &experiment, const std::string &place);

  std::filesystem::path store_directory_;
  std::vector<Place> places_;
  std::filesystem::path private_directory_;  // of the copies
  std::list<tensorboard::Mirror> copies_;
};

}  // namespace det::cli
