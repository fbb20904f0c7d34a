// det trace.
#include <memory>

#include "wrappers/cli/command.h"
#include "wrappers/cli/commands/ids.h"
#include "wrappers/cli/text/field_text.h"
#include "wrappers/cli/text/output_file.h"

namespace det::cli {

namespace {

constexpr const char *trace_footer =
    R"(Open the file with https://ui.perfetto.dev or chrome://tracing. It has a process for each rank of
each run: the regions that the program begins and ends, by thread, what the library itself took
(detcore), and as counters what was reported.

A store keeps the last regions of each thread, also of a run that goes on or was killed. What is older,
and all of a master, are the sums that were reported: slices whose length is right, but not their
place.

Examples:
  det trace 1 -o trace.json         where the time of trial 1 went
  det trace 1 | gzip > trace.json.gz)";

struct TraceOptions {
  int64_t trial = 0;
  std::string file;
};

void run_trace(const Session &session, const TraceOptions &options) {
  const bool to_output = options.file.empty() || options.file == "-";
  if (to_output && session.terminal.interactive)
    throw Failure(ExitCode::usage, "a trace is for a program to show: give -o FILE");
  const std::string trace = session.connect().trace(options.trial);
  if (to_output) return print(trace);
  OutputFile file(options.file);
  file.write(trace);
  file.finish();
  print("Wrote " + printable(options.file) + ": open it with https://ui.perfetto.dev\n");
}

}  // namespace

void add_trace_command(CLI::App &app, Session &session) {
  const auto options = std::make_shared<TraceOptions>();
  CLI::App *command =
      app.add_subcommand("trace", "Write where the time of a trial went, for Perfetto.");
  command->footer(trace_footer);
  add_trial(command, session, "TRIAL", options->trial, "The trial.")->required();
  command->add_option("-o,--output", options->file, "Where to; else to the output.")
      ->type_name("FILE");
  command->callback([options, &session] { run_trace(session, *options); });
}

}  // namespace det::cli
