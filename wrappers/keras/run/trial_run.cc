#include "wrappers/keras/run/trial_run.h"

#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <random>

#include "core/base/error.h"

namespace det::keras {

namespace {

// An experiment configuration, in YAML or JSON.
Json read_config(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) throw Error(Code::invalid, "reading the configuration '" + path + "': no such file");
  det_config_options options = DET_CONFIG_OPTIONS_INIT;
  options.file_name = path.c_str();
  options.unmanaged = 1;  // may leave out the entrypoint
  return parse_json(text_of(det_config_complete, text.c_str(), &options), path);
}

}  // namespace

Arguments read_arguments(std::span<const char *const> arguments) {
  Arguments told;
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string option = arguments[i];
    if (option == "--test") told.tests_one_batch = true;
    if (option != "--config" && option != "--external-id") continue;
    if (i + 1 == arguments.size())
      throw Error(Code::invalid, "reading the command line: " + option + " needs a value after it");
    const std::string value = arguments[++i];
    if (option == "--external-id") told.external_id = value;
    else told.config = read_config(value);
  }
  return told;
}

TrialRun TrialRun::start(det_core_options options) {
  TrialRun run;
  det_distributed_context *ranks = nullptr;
  call(det_distributed_from_env, &ranks);
  run.ranks_.reset(ranks);
  const int32_t signals[] = {SIGTERM};
  options.preempt_signals = signals;
  options.preempt_signal_count = 1;
  options.preempt_mode = DET_PREEMPT_MODE_CHIEF_ONLY;  // the sequencer decides for all ranks
  options.distributed = ranks;
  det_core *core = nullptr;
  call(det_core_init, &options, &core);
  run.core_.reset(core);
  return run;
}

TrialRun TrialRun::unkept(const char *config_json, const char *hparams_json) {
  Json made = parse_json(text_of(det_trial_env_from_config, config_json, hparams_json,
                                 static_cast<uint32_t>(std::random_device()())),
                         "the environment of a trial");
  Json &config = made["experiment_config"];
  config["hyperparameters"] = made["hparams"];
  const std::string config_text = text_with_bare_numbers(config);
  const std::string hparams_text = text_with_bare_numbers(made["hparams"]);
  TrialRun run;
  run.directory_ = std::make_unique<TemporaryDirectory>();
  const std::string storage = run.directory_->path() + "/checkpoints";
  det_core_options options = DET_CORE_OPTIONS_INIT;
  options.master = run.directory_->path().c_str();
  options.checkpoint_storage = storage.c_str();
  options.config_json = config_text.c_str();
  options.hparams_json = hparams_text.c_str();
  det_core *core = nullptr;
  call(det_core_init, &options, &core);
  run.core_.reset(core);
  return run;
}

TrialRun::TemporaryDirectory::TemporaryDirectory()
    : path_((std::filesystem::temp_directory_path() / "det-XXXXXX").string()) {
  if (mkdtemp(path_.data()) == nullptr) OsFailure{errno}.raise("making the directory " + path_);
}

TrialRun::TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace det::keras
