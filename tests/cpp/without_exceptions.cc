// A host that is compiled with -fno-exceptions: every call is given a Failure. Another file of this
// program is compiled with exceptions, and keeps them.
#include <det/core.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#ifdef __cpp_exceptions
#error "this is to be compiled without exceptions"
#endif

int check_exceptions(const det::Core &core);

namespace {

int failures = 0;

void expect(bool right, const char *what) {
  if (right) return;
  std::fprintf(stderr, "%s\n", what);
  ++failures;
}

void save(const det::Core &core) {
  det::Failure failure;
  det::CheckpointOptions options;
  options.progress = [](const det::Progress &) { return true; };
  const det::CheckpointWriter store =
      core.checkpoint().write(R"({"steps_completed": 1})", options, failure);
  expect(!failure && store, failure.message());
  std::ofstream(store.path() / "state") << 1;
  store.commit(failure);
  expect(!failure, failure.message());
}

}  // namespace

int main() {
  det::Failure failure;
  det::CoreOptions options;
  options.hparams = "[]";
  const det::Core none = det::Core::init(options, failure);
  expect(!none && failure.code() == det::Code::invalid, "options that are wrong are taken");

  options.hparams = R"({"rate": 0.5})";
  options.log = [](const det::LogLine &) {};
  const det::Core core = det::Core::init(options, failure);
  expect(core && !failure, failure.message());
  core.train().report_training_metrics(1, {{"loss", 0.5}}, failure);
  expect(!failure, failure.message());
  core.train().report_training_metrics(-1, {{"loss", 0.5}}, failure);
  expect(failure.code() == det::Code::invalid, "a step that is wrong is taken");
  expect(core.info().hparams().get<double>("rate", failure) == 0.5 && !failure, "there is no rate");
  expect(core.info().hparams().find<int>("none", failure) == std::nullopt && !failure,
         "none is there");
  for (const det::Operation operation : core.searcher().operations(failure))
    operation.report_completed(1, failure);
  expect(!failure, failure.message());
  save(core);
  failures += check_exceptions(core);
  core.close(det::Outcome::ok, failure);
  expect(!failure, failure.message());
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
