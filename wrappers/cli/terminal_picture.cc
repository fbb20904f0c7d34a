#include "terminal_picture.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <string_view>

#include "core/base/base64.h"
#include "picture.h"
#include "terminal_query.h"

namespace det::cli {

namespace {

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

}  // namespace

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

}  // namespace det::cli
