#include "core/launcher/log_follower.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "core/base/error.h"
#include "core/base/text/printable.h"
#include "core/base/text/utf8.h"

namespace det::launcher {

namespace {

constexpr size_t most_at_once = size_t{1} << 20;
constexpr size_t longest_line = size_t{64} << 10;

// Where to cut a line that is too long: not within a character.
size_t cut(std::string_view text) {
  size_t at = longest_line;
  while (at > longest_line - 4 && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80) --at;
  return at;
}

// Moves the complete lines off the front of `text`; with `last`, all of it.
std::vector<std::string> take_lines(std::string_view &text, bool last) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == text.npos) text.remove_prefix(overwritten(text));
    const bool whole = end != text.npos || last;
    const std::string_view line = whole ? as_shown(text.substr(0, end)) : text;
    if (line.size() > longest_line) {
      const size_t size = cut(line);
      lines.push_back(to_utf8(line.substr(0, size)));
      text.remove_prefix(static_cast<size_t>(line.data() - text.data()) + size);
    } else if (whole) {
      if (end != text.npos || !line.empty()) lines.push_back(to_utf8(line));
      text.remove_prefix(end == text.npos ? text.size() : end + 1);
    } else {
      break;
    }
  }
  return lines;
}

}  // namespace

LogFollower::LogFollower(std::filesystem::path file, uint64_t offset, Sink sink)
    : path_(std::move(file)), sink_(std::move(sink)), offset_(offset) {}

bool LogFollower::follow() { return has_file() && read(false); }

void LogFollower::finish() {
  if (!has_file()) return;
  while (read(false)) {
  }
  read(true);
}

bool LogFollower::has_file() {
  if (file_) return true;
  file_ = Fd(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file_ && errno != ENOENT) OsFailure{errno}.raise("opening '" + path_.string() + "'");
  return static_cast<bool>(file_);
}

bool LogFollower::read(bool last) {
  struct stat about {};
  if (fstat(file_.get(), &about) != 0)
    OsFailure{errno}.raise("looking at '" + path_.string() + "'");
  const auto size = static_cast<uint64_t>(about.st_size);
  // Somebody emptied it: what it holds now is new.
  if (size < offset_) offset_ = 0;
  if (size == offset_ || (size == seen_ && !last)) return false;
  std::string buffer(std::min<uint64_t>(size - offset_, most_at_once), '\0');
  const ssize_t got = pread(file_.get(), buffer.data(), buffer.size(), static_cast<off_t>(offset_));
  if (got < 0) OsFailure{errno}.raise("reading '" + path_.string() + "'");
  std::string_view text(buffer.data(), static_cast<size_t>(got));
  const size_t before = text.size();
  const std::vector<std::string> lines = take_lines(text, last);
  const uint64_t next = offset_ + (before - text.size());
  if (next != offset_) sink_(lines, next);
  offset_ = next;
  const bool more = offset_ + text.size() < size;
  if (!more) seen_ = size;
  return more;
}

}  // namespace det::launcher
