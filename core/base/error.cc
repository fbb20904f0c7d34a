#include "core/base/error.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>

namespace det {

namespace {

struct Meaning {
  Code code;
  const char *remedy;
};

Meaning meaning_of(int os_errno) {
  switch (os_errno) {
    case ENOSPC:
      return {Code::full, "; free some space on that file system and try again"};
    case EDQUOT:
      return {Code::full, "; free some of your quota and try again"};
    case EACCES:
    case EPERM:
      return {Code::access, "; check the permissions of that path"};
    case EROFS:
      return {Code::access, "; choose a directory on a writable file system"};
    case ENOENT:
      return {Code::not_found, "; check that the path exists"};
    case ENOTDIR:
      return {Code::invalid, "; a directory is expected there"};
    case ENAMETOOLONG:
      return {Code::invalid, "; choose a shorter path"};
    case EMFILE:
    case ENFILE:
      return {Code::io, "; raise the limit on open files (ulimit -n)"};
    case ENOMEM:
      return {Code::no_memory, ""};
    default:
      return {Code::io, ""};
  }
}

// strerror_r() gives the text in glibc, and a number in other libraries.
[[maybe_unused]] const char *said(const char *text, const char *) { return text; }
[[maybe_unused]] const char *said(int, const char *buffer) { return buffer; }

}  // namespace

Code code_from(int number) {
  const bool known =
      number <= static_cast<int>(Code::internal) && number >= static_cast<int>(Code::http);
  return known ? static_cast<Code>(number) : Code::internal;
}

bool is_passing(Code code) {
  switch (code) {
    case Code::no_memory:
    case Code::io:
    case Code::timeout:
    case Code::busy:
    case Code::unavailable:
    case Code::http:
      return true;
    default:
      return false;
  }
}

std::string errno_text(int os_errno) {
  std::array<char, 256> text{};
  return said(strerror_r(os_errno, text.data(), text.size()), text.data());
}

Code OsFailure::code() const { return meaning_of(os_errno_).code; }
const char *OsFailure::remedy() const { return meaning_of(os_errno_).remedy; }

bool is_shortage_of_memory(const std::exception &failure) noexcept {
  const auto *error = dynamic_cast<const Error *>(&failure);
  return error != nullptr ? error->code == Code::no_memory
                          : dynamic_cast<const std::bad_alloc *>(&failure) != nullptr;
}

Error as_error(const std::exception &failure) {
  if (const auto *error = dynamic_cast<const Error *>(&failure)) return *error;
  if (dynamic_cast<const std::bad_alloc *>(&failure) != nullptr)
    return {Code::no_memory, "out of memory"};
  const auto *system = dynamic_cast<const std::system_error *>(&failure);
  const bool has_errno =
      system != nullptr && (system->code().category() == std::generic_category() ||
                            system->code().category() == std::system_category());
  if (!has_errno) return {Code::internal, failure.what()};
  const int os_errno = system->code().value();
  const Meaning meaning = meaning_of(os_errno);
  return {meaning.code, std::string(system->what()) + meaning.remedy, os_errno};
}

void OsFailure::raise(const std::string &tried) const {
  const Meaning meaning = meaning_of(os_errno_);
  throw Error(meaning.code, tried + ": " + errno_text(os_errno_) + meaning.remedy, os_errno_);
}

}  // namespace det
