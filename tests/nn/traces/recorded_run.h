// A phase of a recorded run, done again.
#pragma once

#include "workloads.h"

#include <cstdio>
#include <cstdlib>
#include <det/trials/run.hpp>
#include <fstream>

namespace traces {

template <class Trial>
void do_again(const std::string &file, size_t number, const char *metric) {
  std::ifstream text(file);
  const Json recorded = Json::parse(text);
  const Json phase = recorded.at("phases").at(number).at("phase");
  Json spec = recorded.at("input");
  spec.update(phase.value("spec", Json::object()));
  Json config = spec.value("config", Json::object());
  if (config.value("records_per_epoch", Json()) == "<absent>") config.erase("records_per_epoch");
  if (config.contains("optimizations"))  // a number that no configuration may have
    config["optimizations"].erase("tensor_fusion_cycle_time");
  config["searcher"] = {{"name", "single"}, {"metric", metric}, {"max_length", {{"batches", 1}}}};
  config["reproducibility"] = {{"experiment_seed", spec.value("seed", 0)}};
  det::CoreOptions options;
  options.external_id = "recorded";
  options.hparams = spec.at("hparams");
  options.config = config;
  const det::Core core = det::trials::start(options);
  if (const char *output = std::getenv("OUTPUT_OF_RANKS")) {
    const std::string of_rank = output + std::to_string(core.distributed().rank());
    if (std::freopen(of_rank.c_str(), "w", stdout) == nullptr)
      throw std::runtime_error("opening the output of a rank");
  }
  typename Trial::Context context(core);
  Trial trial(context, spec);
  RecordedWorkloads workloads(phase);
  det::trials::train<Trial>(
      context, [&]() -> Trial & { return trial; }, &workloads);
  trial.say_last();
  core.close();
}

// The main() of a program that is given the file of a case and the number of a phase.
template <class Trial>
int main_of(int argc, char **argv, const char *metric) {
  try {
    if (argc != 3) return 2;
    do_again<Trial>(argv[1], std::stoul(argv[2]), metric);
    return 0;
  } catch (const std::exception &failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}

}  // namespace traces
