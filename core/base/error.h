// The one exception type of the core, and the codes that the C API hands out.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>

namespace det {

// Same numbers as DET_E_* in include/det/error.h; capi/error.cc asserts that.
enum class Code : int {
  internal = -1,
  no_memory = -2,
  invalid = -3,
  not_found = -4,
  io = -5,
  timeout = -6,
  callback = -7,
  unsupported = -8,
  state = -9,
  access = -10,
  corrupt = -11,
  full = -12,
  busy = -13,
  conflict = -14,
  unavailable = -15,
  http = -16,
};

// A code that came from elsewhere; Code::internal for a number that is none.
Code code_from(int number);

// Whether what failed so may go well a little later, though nobody does anything about it.
bool is_passing(Code code);

class Error : public std::runtime_error {
 public:
  Error(Code code, const std::string &message, int os_errno = 0, int http_status = 0)
      : std::runtime_error(message), code(code), os_errno(os_errno), http_status(http_status) {}

  // The same, where the code alone does not tell whether the call may go well a little later.
  Error with_retry(bool may_help) const {
    Error other = *this;
    other.retry = may_help;
    return other;
  }

  Code code;
  int os_errno;
  int http_status;
  std::optional<bool> retry = {};
};

// Whether there was no memory for it. Needs none itself.
bool is_shortage_of_memory(const std::exception &failure) noexcept;

// Any failure as one of ours: what the standard library throws has a code as well.
Error as_error(const std::exception &failure);

// What the system says of an error number ("No such file or directory"); may be asked by several
// threads at once, unlike strerror().
std::string errno_text(int os_errno);

// A failed system call, held before anything else can overwrite errno:
//   OsFailure{errno}.raise("writing '" + path + "'");
// The braces are evaluated before the text; as arguments of one call they would be in no certain
// order.
class OsFailure {
 public:
  explicit OsFailure(int os_errno) : os_errno_(os_errno) {}

  // What the number means; the remedy begins with "; ", or is empty.
  Code code() const;
  const char *remedy() const;

  // `tried` says what was done to what; the reason and, where there is one, the remedy are added,
  // and the code follows from the number.
  [[noreturn]] void raise(const std::string &tried) const;

 private:
  int os_errno_;
};

}  // namespace det
