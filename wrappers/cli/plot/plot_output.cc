#include "wrappers/cli/plot/plot_output.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "core/base/file.h"
#include "core/base/text/base64.h"
#include "wrappers/cli/exit_code.h"
#include "wrappers/cli/plot/figure.h"
#include "wrappers/cli/plot/picture_entry.h"
#include "wrappers/cli/plot/plot.h"
#include "wrappers/cli/text/output_file.h"
#include "wrappers/cli/text/terminal.h"

namespace det::cli {

namespace {

constexpr const char *library = "libdetcore-picture.so.0";

std::string reason() {
  const char *const text = dlerror();
  return text ? text : "no reason given";
}

// It stays: the libraries that it needs do not like to leave.
void *open_library(std::string &why) {
  constexpr int flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
  std::error_code unknown;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path();
  // Beside the installed program, or in a build folder.
  for (const auto &file :
       {folder / DET_PICTURE_FOLDER / library, folder / "plot/picture" / library}) {
    if (!std::filesystem::exists(file, unknown)) continue;
    void *handle = dlopen(file.c_str(), flags);
    if (!handle) why = reason() + "; install Cairo and Pango (libpangocairo-1.0-0)";
    return handle;
  }
  why = std::string("this det has no ") + library +
        " (the Python package leaves it out); plot with matplotlib (detcore.client has the "
        "values), install det from its own package, or build it with libpango1.0-dev installed";
  return nullptr;
}

// Of a file by how its name ends, or by the name of the format itself; nothing for another.
std::optional<PictureFormat> picture_format(const std::string &name) {
  std::string suffix = name.substr(name.find_last_of('.') + 1);
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (suffix == "svg") return PictureFormat::svg;
  if (suffix == "pdf") return PictureFormat::pdf;
  if (suffix == "png") return PictureFormat::png;
  return std::nullopt;
}

// Null if the library is missing or of another build. Then `why` says which.
const PictureEntry *find_pictures(std::string &why) {
  void *const handle = open_library(why);
  if (!handle) return nullptr;
  const auto *const entry = static_cast<const PictureEntry *>(dlsym(handle, picture_entry_name));
  if (entry && std::strcmp(entry->build, picture_build) == 0) return entry;
  why = std::string(library) + " belongs to another build of det";
  return nullptr;
}

// Throws Failure: unsupported where pictures cannot be drawn here, with what to install.
std::string draw_picture(const Figure &figure, PictureFormat format, const PictureSize &size) {
  std::string why;
  const PictureEntry *const pictures = find_pictures(why);
  if (!pictures)
    throw Failure(ExitCode::unsupported,
                  "drawing a picture: " + why + "; without -o the plot is drawn as text");
  if (format == PictureFormat::sixel && !pictures->with_sixel)
    throw Failure(ExitCode::unsupported,
                  "drawing in Sixel: det was built without libsixel; build it with libsixel-dev "
                  "installed, or leave out --picture=sixel");
  try {
    return pictures->draw(figure, format, size);
  } catch (const std::exception &error) {
    throw Failure(ExitCode::internal, error.what());
  }
}

constexpr std::chrono::milliseconds answer_limit(1000);
constexpr std::string_view attributes_question = "\x1b[c";
constexpr char interrupt = 3;  // Ctrl-C
constexpr size_t longest_answer = 4096;

// A terminal without echo whose keys come one by one.
class QuietTerminal {
 public:
  explicit QuietTerminal(int terminal) : terminal_(terminal) {
    if (tcgetattr(terminal_, &before_) != 0) return;
    termios quiet = before_;
    // Also without signals: they would end the process with the terminal as it is now.
    quiet.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
    quiet.c_cc[VMIN] = 0;
    quiet.c_cc[VTIME] = 0;
    quiet_ = tcsetattr(terminal_, TCSADRAIN, &quiet) == 0;
  }
  QuietTerminal(const QuietTerminal &) = delete;
  QuietTerminal &operator=(const QuietTerminal &) = delete;
  ~QuietTerminal() {
    if (quiet_) tcsetattr(terminal_, TCSADRAIN, &before_);
  }
  explicit operator bool() const { return quiet_; }

 private:
  int terminal_;
  termios before_{};
  bool quiet_ = false;
};

// `CSI ? ... c` at the end.
bool is_complete(const std::string &answer) {
  if (answer.empty() || answer.back() != 'c') return false;
  const size_t start = answer.rfind("\x1b[?");
  return start != answer.npos &&
         answer.find_first_not_of("0123456789;", start + 3) == answer.size() - 1;
}

std::string read_response(int terminal) {
  const auto end = std::chrono::steady_clock::now() + answer_limit;
  std::string answer;
  while (!is_complete(answer) && answer.size() < longest_answer) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd ready{terminal, POLLIN, 0};
    if (left.count() <= 0) return "";
    const int count = poll(&ready, 1, static_cast<int>(left.count()));
    if (count < 0 && errno == EINTR) continue;
    char key = 0;
    if (count <= 0 || read(terminal, &key, 1) != 1) return "";
    answer += key;
    if (key == interrupt) return answer;
  }
  return answer;
}

// Who is not in front of the terminal would be stopped by asking.
bool is_in_front(int terminal) {
  const pid_t front = tcgetpgrp(terminal);
  return front < 0 || front == getpgrp();
}

// What the terminal of standard output answers to `questions`, control sequences that it
// understands or passes over. Ends with the answer to a last one that every terminal has (Primary
// Device Attributes, `CSI c`), or after a second; empty where there is no terminal, or another
// process has it. Takes what is typed meanwhile.
std::string ask_terminal(const std::string &questions) {
  const char *name = ttyname(STDOUT_FILENO);
  if (!name) return "";
  const Fd terminal(open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!terminal || !is_in_front(terminal.get())) return "";
  std::string answer;
  {
    const QuietTerminal quiet(terminal.get());
    const std::string asked = questions + std::string(attributes_question);
    if (!quiet ||
        write(terminal.get(), asked.data(), asked.size()) != static_cast<ssize_t>(asked.size()))
      return "";
    answer = read_response(terminal.get());
  }
  if (!answer.empty() && answer.back() == interrupt) raise(SIGINT);
  return answer;
}

enum class PictureProtocol { none, kitty, iterm, sixel };

// What the terminal draws, and the pixels of one of its cells.
struct PictureTerminal {
  PictureProtocol protocol = PictureProtocol::none;
  int cell_width = 8, cell_height = 16;
};

constexpr size_t kitty_chunk = 4096;
constexpr int most_columns = 120;
constexpr double usual_width = 800;  // that the sizes of texts are made for

// The name and version (XTVERSION), and the pixels of a cell (`CSI 16 t`). Terminals that do not
// know these pass over them.
constexpr std::string_view questions = "\x1b[>q\x1b[16t";

// kitty's own question: a picture of one pixel that is looked at and not shown. Only for terminals
// whose names say that they understand it: others might print it.
constexpr std::string_view kitty_question = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\";

bool has_name(const std::string &answer, std::initializer_list<std::string_view> names) {
  const size_t start = answer.find("\x1bP>|");
  if (start == answer.npos) return false;
  const std::string_view name = std::string_view(answer).substr(start + 4);
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view each) { return name.starts_with(each); });
}

// Whether the Primary Device Attributes have 4, which stands for Sixel.
bool has_sixel(const std::string &answer) {
  const size_t start = answer.rfind("\x1b[?");
  if (start == answer.npos) return false;
  const std::string attributes = ";" + answer.substr(start + 3);
  return attributes.find(";4;") != attributes.npos || attributes.find(";4c") != attributes.npos;
}

int number_at(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// `CSI 6 ; height ; width t`, else what the kernel knows.
void measure_cell(PictureTerminal &pictures, const std::string &answer) {
  int width = 0, height = 0;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
    width = size.ws_xpixel / size.ws_col;
    height = size.ws_ypixel / size.ws_row;
  }
  if (const size_t start = answer.find("\x1b[6;"); start != answer.npos) {
    const std::string_view rest = std::string_view(answer).substr(start + 4);
    height = number_at(rest);
    width = number_at(rest.substr(std::min(rest.find(';'), rest.size() - 1) + 1));
  }
  constexpr int most = 200;
  if (width < 2 || height < 2 || width > most || height > most) return;
  pictures.cell_width = width;
  pictures.cell_height = height;
}

// Asks the terminal, for a second at most; none where it is no terminal or cannot.
PictureTerminal detect_picture_terminal(const Terminal &terminal) {
  PictureTerminal pictures;
  std::string why;
  if (!terminal.cursor) return pictures;
  const PictureEntry *const entry = find_pictures(why);
  if (!entry) return pictures;
  const std::string answer = ask_terminal(std::string(questions));
  measure_cell(pictures, answer);
  if (has_name(answer, {"kitty", "ghostty", "WezTerm", "Konsole"}) &&
      ask_terminal(std::string(kitty_question)).find("\x1b_Gi=31;OK") != answer.npos)
    pictures.protocol = PictureProtocol::kitty;
  else if (has_name(answer, {"iTerm2", "WezTerm", "mintty"}))
    pictures.protocol = PictureProtocol::iterm;
  else if (entry->with_sixel && has_sixel(answer)) pictures.protocol = PictureProtocol::sixel;
  return pictures;
}

// A PNG as the protocols want it: of kitty in pieces of 4,096 characters at most, on so many
// columns.
std::string kitty_picture(const std::string &png, int columns) {
  const std::string data = to_base64(png);
  std::string out;
  for (size_t at = 0; at < data.size(); at += kitty_chunk) {
    const bool more = at + kitty_chunk < data.size();
    out += "\x1b_G";
    // Shown at once (T), a PNG (100), without an answer (q=2).
    if (at == 0) out += "a=T,f=100,q=2,c=" + std::to_string(columns) + ",";
    out += (more ? "m=1;" : "m=0;") + data.substr(at, kitty_chunk) + "\x1b\\";
  }
  return out;
}

std::string iterm_picture(const std::string &png, int columns) {
  return "\x1b]1337;File=inline=1;size=" + std::to_string(png.size()) +
         ";width=" + std::to_string(columns) + ";preserveAspectRatio=1:" + to_base64(png) + "\a";
}

// The bytes that show the figure in the width of the terminal. Throws Failure.
std::string picture_for(const Figure &figure, const PictureTerminal &pictures,
                        const Terminal &terminal) {
  const int columns = std::clamp(terminal.width - 1, 10, most_columns);
  PictureSize size{columns * pictures.cell_width, 0, 1};
  // The prompt has a line under it.
  const int rows = std::max(8, terminal.height - 2);
  size.height = std::min(size.width * 9 / 16, rows * pictures.cell_height);
  size.scale = std::max(size.width / usual_width, 0.5);
  if (pictures.protocol == PictureProtocol::sixel)
    return draw_picture(figure, PictureFormat::sixel, size) + "\n";
  const std::string png = draw_picture(figure, PictureFormat::png, size);
  return (pictures.protocol == PictureProtocol::kitty ? kitty_picture(png, columns)
                                                      : iterm_picture(png, columns)) +
         "\n";
}

constexpr int least_size = 100, most_size = 4000;  // points
constexpr int png_scale = 2;                       // for screens of today, and for print

const std::map<std::string, PictureProtocol> protocols = {{"auto", PictureProtocol::none},
                                                          {"kitty", PictureProtocol::kitty},
                                                          {"iterm", PictureProtocol::iterm},
                                                          {"sixel", PictureProtocol::sixel},
                                                          {"none", PictureProtocol::none}};

PictureFormat format_of(const PlotOutput &output) {
  const std::string &name = output.format.empty() ? output.file : output.format;
  const auto format = picture_format(name);
  if (format) return *format;
  throw Failure(ExitCode::usage,
                "'" + name + "' is not a format: choose svg, pdf or png" +
                    (output.format.empty() ? " with --format, or as the ending of FILE" : ""));
}

void write_picture(const Figure &figure, const PlotOutput &output) {
  const PictureFormat format = format_of(output);
  const int scale = format == PictureFormat::png ? png_scale : 1;
  const std::string picture = draw_picture(
      figure, format, {output.width * scale, output.height * scale, static_cast<double>(scale)});
  if (output.file == "-") return print(picture);
  OutputFile file(output.file);
  file.write(picture);
  file.finish();
  print("Wrote " + printable(output.file) + ".\n");
}

// "800x450".
void parse_size(const std::string &text, PlotOutput &output) {
  int width = 0, height = 0;
  const char *end = text.data() + text.size();
  const auto [cross, error] = std::from_chars(text.data(), end, width);
  if (error == std::errc() && cross != end && *cross == 'x') {
    const auto [stop, wrong] = std::from_chars(cross + 1, end, height);
    if (wrong != std::errc() || stop != end) height = 0;
  }
  if (width < least_size || height < least_size || width > most_size || height > most_size)
    throw Failure(ExitCode::usage, "'" + text + "' is not a size: give WIDTHxHEIGHT, each from " +
                                       std::to_string(least_size) + " to " +
                                       std::to_string(most_size) + " points, such as 800x450");
  output.width = width;
  output.height = height;
}

PictureTerminal picture_terminal(const PlotOutput &output, const Terminal &terminal) {
  if (output.ascii || output.picture == "none") return {};
  if (output.picture == "auto") return detect_picture_terminal(terminal);
  return {.protocol = protocols.at(output.picture)};
}

}  // namespace

void add_plot_output(CLI::App *command, PlotOutput &output) {
  command
      ->add_option("-o,--output", output.file,
                   "Write a picture to this file; - is standard output.")
      ->type_name("FILE");
  command->add_option("--format", output.format, "svg, pdf or png, for any name of FILE.")
      ->type_name("PICTURE");
  command
      ->add_option_function<std::string>(
          "--size", [&output](const std::string &text) { parse_size(text, output); },
          "The size of the picture in points. By default it is 800x450.")
      ->type_name("SIZE");
  command
      ->add_option(
          "--picture", output.picture,
          "The picture protocol of the terminal: auto, kitty, iterm, sixel or none (text).")
      ->type_name("PROTOCOL")
      ->check([](const std::string &name) {
        return protocols.contains(name)
                   ? std::string()
                   : "'" + name + "' is not a protocol: choose auto, kitty, iterm, sixel or none";
      });
  command->add_flag("--ascii", output.ascii, "Draw with ASCII characters only.");
}

void check_plot_output(const PlotOutput &output) {
  if (!output.file.empty()) format_of(output);
  else if (!output.format.empty())
    throw Failure(ExitCode::usage, "--format needs -o FILE; '-o -' writes to standard output");
}

void show_plot(const Session &session, const Figure &figure, const PlotOutput &output) {
  if (!output.file.empty()) return write_picture(figure, output);
  Terminal terminal = session.terminal;
  terminal.utf8 = terminal.utf8 && !output.ascii;
  const PictureTerminal pictures = picture_terminal(output, terminal);
  print(pictures.protocol == PictureProtocol::none ? render_plot(figure, terminal)
                                                   : picture_for(figure, pictures, terminal));
}

}  // namespace det::cli
