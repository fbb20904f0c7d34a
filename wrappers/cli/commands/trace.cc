// det trace.
#include <memory>

#include "wrappers/cli/command.h"
#include "wrappers/cli/commands/ids.h"
#include "wrappers/cli/text/field_text.h"
#include "wrappers/cli/text/output_file.h"

namespace det::cli {

namespace {

constexpr const char *trace_footer =
    R"(Open the file with https://ui.perfetto.dev or chrome://tracing. It has one
process for each rank of each run. It shows the regions of the program by
thread, the time that the library took (detcore), and reports as counters.

A store keeps the last regions of each thread, even if the run was killed.
Older regions, and all regions on a master, are sums: the lengths of their
slices are right, but their positions are not.

Example:
  det trace 1 -o trace.json)";

struct TraceOptions {
  int64_t trial = 0;
  std::string file;
};

void run_trace(const Session &session, const TraceOptions &options) {
  const bool to_output = options.file.empty() || options.file == "-";
  if (to_output && session.terminal.interactive)
    throw Failure(ExitCode::usage,
                  "a trace is not for a terminal: write it to a file with -o FILE");
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
  CLI::App *command = app.add_subcommand("trace", "Write the time line of a trial for Perfetto.");
  command->footer(trace_footer);
  add_trial(command, session, "TRIAL", options->trial, "The trial.")->required();
  command->add_option("-o,--output", options->file, "The file. By default it is standard output.")
      ->type_name("FILE");
  command->callback([options, &session] { run_trace(session, *options); });
}

}  // namespace det::cli
