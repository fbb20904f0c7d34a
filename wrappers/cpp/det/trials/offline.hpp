// Trials without a run of their own: one batch of everything, and contexts to look at.
#pragma once

#include <det/core.hpp>
#include <det/nlohmann_json.hpp>
#include <det/trials/workloads.hpp>

#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <system_error>

#include <unistd.h>

namespace det {
inline namespace v1 {
namespace trials {

// A directory that is gone with it.
class TemporaryDirectory {
 public:
  TemporaryDirectory() : path_((std::filesystem::temp_directory_path() / "det-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr)
      throw std::system_error(errno, std::generic_category(), "making the directory " + path_);
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory &) = delete;
  TemporaryDirectory &operator=(const TemporaryDirectory &) = delete;

  [[nodiscard]] const std::string &path() const noexcept { return path_; }

 private:
  std::string path_;
};

// A run of one process, of which nothing is kept. Hyperparameters are drawn from the ranges of
// `config` where `hparams` gives none.
class UnkeptRun {
 public:
  explicit UnkeptRun(const Json &config, const Json &hparams = {})
      : core_(Core::init(options(config, hparams))) {}

  [[nodiscard]] const Core &core() const noexcept { return core_; }

 private:
  [[nodiscard]] CoreOptions options(const Json &config, const Json &hparams) const {
    const auto made =
        trial_env_from_config(config, std::random_device()(), hparams).as<nlohmann::ordered_json>();
    nlohmann::ordered_json completed = made.at("experiment_config");
    completed["hyperparameters"] = made.at("hparams");
    CoreOptions options;
    options.master = directory_.path();
    options.checkpoint_storage = directory_.path() + "/checkpoints";
    options.config = completed;
    options.hparams = made.at("hparams");
    return options;
  }

  TemporaryDirectory directory_;
  Core core_;
};

// A context over a run of which nothing is kept, with the run.
template <class Context>
[[nodiscard]] std::shared_ptr<Context> offline_context(const Json &config, const Json &hparams) {
  struct Owner {
    Owner(const Json &config, const Json &hparams) : run(config, hparams), context(run.core()) {}
    const UnkeptRun run;
    Context context;
  };
  const auto owner = std::make_shared<Owner>(config, hparams);
  return {owner, &owner->context};
}

}  // namespace trials

// Trains one batch, validates with one and saves a checkpoint: whether a trial of `T` runs at all.
// In this process; nothing of it is kept. Of a configuration, an object; hyperparameters are drawn
// from its ranges where `hparams` gives none. Throws InvalidHP where the trial does, and what it
// fails with. What is `more` goes to its constructor, behind the context.
template <class T, class... More>
void test_one_batch(const Json &config, const Json &hparams = {}, const More &...more) {
  const trials::UnkeptRun run(config, hparams);
  typename T::Context context(run.core());
  T trial(context, more...);
  trials::OneBatch one_of_each;
  typename T::Controller(trial, context, one_of_each).run();
  run.core().close();
}

}  // namespace v1
}  // namespace det
