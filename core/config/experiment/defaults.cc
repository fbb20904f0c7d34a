#include "core/config/experiment/defaults.h"

#include <array>
#include <chrono>
#include <random>

#include "core/config/experiment/schema.h"

namespace det::config {

namespace {

constexpr std::array<const char *, 32> qualities = {
    "able",  "amber",  "blue",  "bold",  "brave", "brisk", "calm", "clear",
    "cool",  "crisp",  "deep",  "eager", "early", "fair",  "fast", "fine",
    "fresh", "gentle", "glad",  "green", "grand", "keen",  "kind", "light",
    "loud",  "lucky",  "merry", "quick", "quiet", "red",   "warm", "wise"};
constexpr std::array<const char *, 32> things = {
    "acorn", "badger", "beech", "brook", "cedar", "cloud", "comet",  "crane",
    "dune",  "eagle",  "elm",   "fern",  "finch", "fox",   "grove",  "hare",
    "hawk",  "heron",  "hill",  "lake",  "lark",  "maple", "meadow", "moon",
    "oak",   "otter",  "pine",  "raven", "river", "stone", "tide",   "wren"};

template <size_t n>
const char *pick(const std::array<const char *, n> &words, std::random_device &random) {
  return words[random() % n];
}

void take(const Json &defaults, const char *key, Json &into) {
  if (const Json &value = config_member(defaults, key); !value.is_null()) into[key] = value;
}

void prepend(const Json &defaults, const char *section, const char *key, Json &config) {
  const Json &lower = config_member(config_member(defaults, section), key);
  const Json &mine = config_member(config_member(config, section), key);
  if (!lower.is_array() || !mine.is_array()) return;
  Json both = lower;
  both.insert(both.end(), mine.begin(), mine.end());
  config[section][key] = std::move(both);
}

}  // namespace

Json config_of_container_defaults(const Json &defaults) {
  Json lower = Json::object();
  Json environment = Json::object();
  for (const char *key : {"image", "environment_variables", "force_pull_image", "registry_auth",
                          "add_capabilities", "drop_capabilities"})
    take(defaults, key, environment);
  if (Json &image = environment["image"]; image.is_object()) {
    // A device that a map of images leaves out has none, rather than the default one.
    const bool has_cuda = image.contains("cuda") || image.contains("gpu");
    if (!image.contains("cpu")) image["cpu"] = "";
    if (!has_cuda) image["cuda"] = "";
    if (!image.contains("rocm")) image["rocm"] = "";
  }
  lower["environment"] = std::move(environment);
  for (const char *key : {"bind_mounts", "log_policies", "preemption_timeout", "slurm", "pbs"})
    take(defaults, key, lower);
  Json resources = Json::object();
  take(defaults, "devices", resources);
  lower["resources"] = std::move(resources);
  return lower;
}

void prepend_batch_arguments(const Json &defaults, Json &config) {
  prepend(defaults, "slurm", "sbatch_args", config);
  prepend(defaults, "pbs", "pbsbatch_args", config);
}

std::string random_experiment_name() {
  std::random_device random;
  return std::string("Experiment (") + pick(qualities, random) + "-" + pick(qualities, random) +
         "-" + pick(things, random) + ")";
}

uint32_t clock_seed() {
  using std::chrono::system_clock;
  return static_cast<uint32_t>(system_clock::to_time_t(system_clock::now()));
}

}  // namespace det::config
