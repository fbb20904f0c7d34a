#include "watch.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <string_view>

#include "interrupts.h"

namespace det::cli {

namespace {

constexpr int between_draws_ms = 2000;

// The other screen of a terminal: what stood on it before is there again afterwards.
class OtherScreen {
 public:
  explicit OtherScreen(const Terminal &terminal) : wanted_(terminal.cursor) {
    if (wanted_) print("\x1b[?1049h\x1b[?25l");
  }
  OtherScreen(const OtherScreen &) = delete;
  OtherScreen &operator=(const OtherScreen &) = delete;
  ~OtherScreen() {
    if (!wanted_) return;
    std::fputs("\x1b[?25h\x1b[?1049l", stdout);
    std::fflush(stdout);
  }

 private:
  const bool wanted_;
};

// From its first line on, without wrapping, over what stands there.
std::string on_screen(std::string_view text, const Terminal &terminal) {
  std::string out = "\x1b[?7l\x1b[H";
  for (int line = 0; line < terminal.height && !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    out.append(line == 0 ? "" : "\n").append(text.substr(0, end)).append("\x1b[K");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out + "\x1b[J\x1b[?7h";
}

}  // namespace

void watch(Terminal terminal, const std::function<void(const Terminal &)> &draw) {
  const Interrupts interrupts;
  const Resizes resizes;
  std::string text;
  {
    const OtherScreen screen(terminal);
    std::array<pollfd, 2> waiting = {{{interrupts.fd(), POLLIN, 0}, {resizes.fd(), POLLIN, 0}}};
    while (interrupts.take() == 0) {
      measure(terminal);
      if (!text.empty() && !terminal.cursor) print("\n");
      text = captured([&] { draw(terminal); });
      print(terminal.cursor ? on_screen(text, terminal) : text);
      flush_output();
      poll(waiting.data(), waiting.size(), between_draws_ms);
      resizes.take();
    }
  }
  if (terminal.cursor) print(text);
}

}  // namespace det::cli
