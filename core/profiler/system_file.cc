#include "core/profiler/system_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "core/base/error.h"

namespace det::profiler {

namespace {

constexpr size_t usual_size = 8192;

// The kernel hands out a long file in pieces of about a page, each with as many whole lines as fit.
// What is shorter than that by a line is all there is, and asking again is not needed.
constexpr size_t page = 4096, longest_line = 1024;

[[noreturn]] void refuse(const std::filesystem::path &path, int os_errno) {
  throw Error(Code::unsupported, "reading '" + path.string() + "': " + errno_text(os_errno),
              os_errno);
}

// This system does not have it, or does not let us see it; trying again changes nothing.
bool is_lasting(int os_errno) {
  return os_errno == ENOENT || os_errno == ENOTDIR || os_errno == EACCES || os_errno == EPERM ||
         os_errno == EOPNOTSUPP;
}

}  // namespace

std::string_view SystemFile::read() {
  if (!file_) {
    file_ = Fd(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file_ && is_lasting(errno)) refuse(path_, errno);
    if (!file_) OsFailure{errno}.raise("opening '" + path_.string() + "'");
    text_.resize(usual_size);
  }
  size_t size = 0;
  for (;;) {
    if (text_.size() - size < page) text_.resize(2 * text_.size());
    const ssize_t got =
        pread(file_.get(), text_.data() + size, text_.size() - size, static_cast<off_t>(size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && is_lasting(errno)) refuse(path_, errno);
    if (got < 0) OsFailure{errno}.raise("reading '" + path_.string() + "'");
    size += static_cast<size_t>(got);
    if (static_cast<size_t>(got) + longest_line < page) return {text_.data(), size};
  }
}

std::string_view next_line(std::string_view &text) {
  const size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  return line;
}

std::string_view next_word(std::string_view &text) {
  size_t begin = 0;
  while (begin < text.size() && (text[begin] == ' ' || text[begin] == '\t' || text[begin] == '\n'))
    ++begin;
  size_t end = begin;
  while (end < text.size() && text[end] != ' ' && text[end] != '\t' && text[end] != '\n') ++end;
  const std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

std::optional<uint64_t> number_from(std::string_view word) {
  uint64_t number = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (problem != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

std::optional<uint64_t> number_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    std::string_view line = next_line(text);
    if (next_word(line) == key) return next_number(line);
  }
  return std::nullopt;
}

std::optional<std::string> word_in(const std::filesystem::path &path) try {
  SystemFile file(path);
  std::string_view text = file.read();
  return std::string(next_word(text));
} catch (const Error &) {
  return std::nullopt;
}

std::optional<uint64_t> number_in(const std::filesystem::path &path) {
  const std::optional<std::string> word = word_in(path);
  return word ? number_from(*word) : std::nullopt;
}

}  // namespace det::profiler
