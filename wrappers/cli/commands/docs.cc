// det docs.
#include "wrappers/cli/commands/docs.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>

#include "core/base/error.h"
#include "core/base/process/environment.h"
#include "core/config/experiment/suggestion.h"
#include "core/launcher/program.h"
#include "wrappers/cli/command.h"
#include "wrappers/cli/text/pager.h"
#include "wrappers/cli/trial/child_program.h"

namespace fs = std::filesystem;

namespace det::cli {

namespace {

constexpr const char *docs_footer =
    R"(Opens the pages that are installed with det, in a browser. $BROWSER names the
browser; by default it is the one of your desktop. Without a browser the
command prints the path of the page. If the HTML pages are missing, it shows
the Markdown pages.

Example:
  det docs checkpoints)";

constexpr size_t most_near_pages = 4;

using Pages = std::map<std::string, fs::path>;

// The installation may have been moved: it is found from where this program is.
fs::path documentation_folder() {
  std::error_code unknown;
  const fs::path program = fs::read_symlink("/proc/self/exe", unknown);
  return (program.parent_path() / DET_DOC_FOLDER).lexically_normal();
}

// The files below `folder` that end in `suffix`, by their paths without it. An index.html has the
// name of its folder.
Pages pages_below(const fs::path &folder, const std::string &suffix) {
  Pages pages;
  std::error_code missing;
  for (auto it = fs::recursive_directory_iterator(folder, missing);
       it != fs::recursive_directory_iterator(); it.increment(missing)) {
    if (it->path().extension() != suffix) continue;
    fs::path name = it->path().lexically_relative(folder).replace_extension();
    if (suffix == ".html" && name.filename() == "index" && name.has_parent_path())
      name = name.parent_path();
    pages.emplace(name.string(), it->path());
  }
  return pages;
}

// A page by its name, or by the last part of its name where only one page has it.
std::optional<fs::path> find_page(const Pages &pages, const std::string &name) {
  if (const auto found = pages.find(name); found != pages.end()) return found->second;
  std::optional<fs::path> only;
  for (const auto &[other, path] : pages) {
    if (!other.ends_with("/" + name)) continue;
    if (only) return std::nullopt;
    only = path;
  }
  return only;
}

// The names that differ from `name` by a slip, or have it in them.
std::vector<std::string> near_pages(const std::vector<std::string> &names,
                                    const std::string &name) {
  std::vector<std::string> near;
  if (const std::string nearest = config::suggestion(name, names); !nearest.empty())
    near.push_back(nearest);
  for (const std::string &other : names)
    if (near.size() < most_near_pages && std::ranges::find(near, other) == near.end() &&
        other.find(name) != other.npos)
      near.push_back(other);
  return near;
}

[[noreturn]] void fail_for_page(const std::string &name) {
  std::string near;
  for (const std::string &page : near_pages(documentation_pages(), name))
    near += (near.empty() ? "did you mean '" : "', '") + page;
  throw Failure(ExitCode::not_found, "the documentation has no page '" + name + "'; " +
                                         (near.empty() ? "" : near + "'? ") +
                                         "'det docs' opens the list of pages");
}

fs::path page_path(const std::string &name) {
  const fs::path folder = documentation_folder();
  const Pages html = pages_below(folder / "html", ".html");
  const Pages markdown = pages_below(folder / "docs", ".md");
  if (html.empty() && markdown.empty())
    throw Failure(ExitCode::not_found, "opening the documentation: '" + folder.string() +
                                           "' has no pages; the Python package brings none: "
                                           "read docs/README.md of the clone; 'meson install' and "
                                           "the Debian package detcore install them");
  if (!name.empty() && name != "README") {  // which is the index
    for (const Pages *pages : {&html, &markdown})
      if (const auto page = find_page(*pages, name)) return *page;
    fail_for_page(name);
  }
  if (const auto index = html.find("index"); index != html.end()) return index->second;
  const auto index = markdown.find("README");
  return index != markdown.end() ? index->second : folder / "README.md";
}

bool is_installed(const std::string &command) {
  std::string name;
  std::istringstream(command) >> name;
  try {
    launcher::find_program(name, environment_variable("PATH"), fs::current_path());
    return !name.empty();
  } catch (const Error &) {
    return false;
  }
}

// The command line of the browser; empty for none. $BROWSER may name several, with colons between.
std::string browser_command() {
  std::istringstream chosen(environment_variable("BROWSER"));
  for (std::string command; std::getline(chosen, command, ':');)
    if (is_installed(command)) return command;
  const bool has_desktop =
      !environment_variable("DISPLAY").empty() || !environment_variable("WAYLAND_DISPLAY").empty();
  return has_desktop && is_installed("xdg-open") ? "xdg-open" : "";
}

bool open_in_browser(const fs::path &page) {
  std::string command = browser_command();
  if (command.empty()) return false;
  const size_t place = command.find("%s");
  if (place == command.npos) command += " \"$1\"";
  else command.replace(place, 2, "\"$1\"");
  ChildProgram browser({"sh", "-c", command, "sh", page.string()});
  browser.start({});
  browser.wait();
  if (browser.left_with(0)) return true;
  std::fprintf(stderr, "det: opening '%s' with '%s' failed; open it yourself\n",
               printable(page.string()).c_str(), printable(command).c_str());
  return false;
}

void show_text(const Session &session, const fs::path &page) {
  std::ifstream file(page, std::ios::binary);
  std::ostringstream text;
  if (!(text << file.rdbuf()))
    throw Failure(ExitCode::io, "reading '" + page.string() + "' failed; install det again");
  const Pager pager(session.terminal, session.pager);
  print(text.str());
}

void run_docs(const Session &session, const std::string &name, bool print_only) {
  const fs::path page = page_path(name);
  if (!print_only && page.extension() == ".md") return show_text(session, page);
  if (print_only || !open_in_browser(page)) print(printable(page.string()) + "\n");
}

}  // namespace

std::vector<std::string> documentation_pages() {
  const fs::path folder = documentation_folder();
  Pages pages = pages_below(folder / "docs", ".md");
  if (pages.empty()) pages = pages_below(folder / "html", ".html");
  std::vector<std::string> names;
  for (const auto &[name, path] : pages) names.push_back(name);
  return names;
}

void add_docs_command(CLI::App &app, Session &session) {
  struct Options {
    std::string page;
    bool print_only = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand("docs", "Open the documentation.");
  command->footer(docs_footer);
  command->add_option("PAGE", options->page, "The page, such as checkpoints.")->type_name("");
  command->add_flag("--print", options->print_only, "Print the path of the page only.");
  command->callback([options, &session] {
    with_exit_code([&] { run_docs(session, options->page, options->print_only); });
  });
}

}  // namespace det::cli
