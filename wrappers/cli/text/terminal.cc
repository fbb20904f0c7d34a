#include "wrappers/cli/text/terminal.h"

#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <memory>
#include <utility>

#include "core/base/text/utf8.h"
#include "wrappers/cli/exit_code.h"

namespace det::cli {

namespace {

std::string *kept = nullptr;  // where print() writes to, instead of standard output

int number_in(const char *variable) {
  const char *text = std::getenv(variable);
  if (!text) return 0;
  int number = 0;
  const char *end = text + std::strlen(text);
  return std::from_chars(text, end, number).ptr == end && number > 0 ? number : 0;
}

bool is_set(const char *variable) {
  const char *value = std::getenv(variable);
  return value && *value;
}

size_t width_of(int32_t character) {
  if (character < 0x80) return 1;
  const int width = wcwidth(static_cast<wchar_t>(character));
  return width < 0 ? 1 : static_cast<size_t>(width);
}

void check_written(bool done) {
  if (done) return;
  if (errno == EPIPE) throw OutputClosed{};
  throw Failure(ExitCode::io, std::string("writing to standard output: ") + std::strerror(errno));
}

}  // namespace

Terminal detect_terminal() {
  Terminal terminal;
  terminal.interactive = isatty(STDOUT_FILENO) == 1;
  const char *kind = std::getenv("TERM");
  const bool dumb = !kind || std::strcmp(kind, "dumb") == 0;
  terminal.cursor = terminal.interactive && !dumb;
  terminal.colour = terminal.cursor && !is_set("NO_COLOR");
  terminal.utf8 = std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  measure(terminal);
  return terminal;
}

bool measure(Terminal &terminal) {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
    if (size.ws_col > 0) terminal.width = size.ws_col;
    if (size.ws_row > 0) terminal.height = size.ws_row;
  }
  const bool was_known = terminal.own_width != 0;
  const bool changed = std::exchange(terminal.own_width, size.ws_col) != size.ws_col;
  const bool changed_height = std::exchange(terminal.own_height, size.ws_row) != size.ws_row;
  if (const int columns = number_in("COLUMNS")) terminal.width = columns;
  if (const int lines = number_in("LINES")) terminal.height = lines;
  return was_known && (changed || changed_height);
}

std::string painted(const Terminal &terminal, Colour colour, std::string_view text) {
  if (!terminal.colour) return std::string(text);
  return "\x1b[" + std::to_string(static_cast<int>(colour)) + "m" + std::string(text) + "\x1b[0m";
}

size_t display_width(std::string_view text) {
  if (is_plain(text)) return text.size();
  size_t width = 0;
  while (!text.empty()) width += width_of(take_character(text));
  return width;
}

std::string shortened(std::string_view text, size_t columns, const Terminal &terminal) {
  if (display_width(text) <= columns) return std::string(text);
  const std::string_view mark = terminal.utf8 ? "…" : "~";
  size_t width = 1;
  std::string_view rest = text;
  for (std::string_view ahead = text; !ahead.empty();) {
    width += width_of(take_character(ahead));
    if (width > columns) break;
    rest = ahead;
  }
  return std::string(text.substr(0, text.size() - rest.size())).append(mark);
}

std::string shortened_inside(std::string_view text, size_t columns, const Terminal &terminal) {
  if (display_width(text) <= columns) return std::string(text);
  std::string begin = shortened(text, columns / 2, terminal);
  while (display_width(text) > columns - display_width(begin)) take_character(text);
  return begin.append(text);
}

void print(std::string_view text) {
  if (kept) {
    kept->append(text);
    return;
  }
  check_written(std::fwrite(text.data(), 1, text.size(), stdout) == text.size());
}

std::string captured(const std::function<void()> &action) {
  std::string text;
  const std::unique_ptr<std::string, void (*)(std::string *)> end(
      kept = &text, [](std::string *) { kept = nullptr; });
  action();
  return text;
}

void flush_output() { check_written(std::fflush(stdout) == 0); }

}  // namespace det::cli
