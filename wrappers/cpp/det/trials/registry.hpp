// Programs with several trials, which they find by name.
#pragma once

#include <det/trials/run.hpp>

#include <map>

namespace det {
inline namespace v1 {
namespace trials {

using RunTrial = int (*)(int argc, char **argv, CoreOptions options);

inline std::map<std::string, RunTrial> &registry() {
  static std::map<std::string, RunTrial> trials;
  return trials;
}
template <class T>
bool register_trial(const char *name) {
  return registry()
      .emplace(name,
               [](int argc, char **argv, CoreOptions options) {
                 return run_trial<T>(argc, argv, std::move(options));
               })
      .second;
}

}  // namespace trials

// The main() of a program with trials of DET_REGISTER_TRIAL. It runs the one that the first
// argument names, or the only one. An entrypoint such as `[./program, MnistTrial]` chooses it.
inline int run_registered_trial(int argc, char **argv, CoreOptions options = {}) {
  const auto &trials = trials::registry();
  const std::string wanted = argc > 1 && argv[1][0] != '-' ? argv[1] : "";
  const auto found = wanted.empty() && trials.size() == 1 ? trials.begin() : trials.find(wanted);
  if (found != trials.end()) return found->second(argc, argv, std::move(options));
  std::string known;
  for (const auto &[name, run] : trials) known += (known.empty() ? "" : ", ") + name;
  std::fprintf(stderr, "%s: %s; there are %s\n", argv[0],
               wanted.empty() ? "name a trial" : ("there is no trial '" + wanted + "'").c_str(),
               known.empty() ? "none: DET_REGISTER_TRIAL names them" : known.c_str());
  return 1;
}

}  // namespace v1
}  // namespace det

#define DET_DETAIL_JOIN(a, b) a##b
#define DET_DETAIL_REGISTER_TRIAL(Class, number)                                      \
  [[maybe_unused]] static const bool DET_DETAIL_JOIN(det_registered_trial_, number) = \
      ::det::trials::register_trial<Class>(#Class)

// Use it outside of functions. The name of the class is the name of the trial.
#define DET_REGISTER_TRIAL(Class) DET_DETAIL_REGISTER_TRIAL(Class, __COUNTER__)
