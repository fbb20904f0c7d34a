#include <det/error.h>

#include <cstdlib>
#include <exception>
#include <new>

#include "capi/guard.h"
#include "core/base/text/printable.h"

static_assert(static_cast<int>(det::Code::internal) == DET_E_INTERNAL);
static_assert(static_cast<int>(det::Code::no_memory) == DET_E_NOMEM);
static_assert(static_cast<int>(det::Code::invalid) == DET_E_INVALID);
static_assert(static_cast<int>(det::Code::not_found) == DET_E_NOT_FOUND);
static_assert(static_cast<int>(det::Code::io) == DET_E_IO);
static_assert(static_cast<int>(det::Code::timeout) == DET_E_TIMEOUT);
static_assert(static_cast<int>(det::Code::callback) == DET_E_CALLBACK);
static_assert(static_cast<int>(det::Code::unsupported) == DET_E_UNSUPPORTED);
static_assert(static_cast<int>(det::Code::state) == DET_E_STATE);
static_assert(static_cast<int>(det::Code::access) == DET_E_ACCESS);
static_assert(static_cast<int>(det::Code::corrupt) == DET_E_CORRUPT);
static_assert(static_cast<int>(det::Code::full) == DET_E_FULL);
static_assert(static_cast<int>(det::Code::busy) == DET_E_BUSY);
static_assert(static_cast<int>(det::Code::conflict) == DET_E_CONFLICT);
static_assert(static_cast<int>(det::Code::unavailable) == DET_E_UNAVAILABLE);
static_assert(static_cast<int>(det::Code::http) == DET_E_HTTP);

namespace {

// A century is as good as no limit, and far from where clocks overflow.
constexpr std::chrono::milliseconds longest = std::chrono::hours(24 * 36525);

det_status fill(det_error *err, det_status code, const char *message, int os_errno = 0,
                int http_status = 0, bool retryable = true) noexcept {
  if (err == nullptr) return code;
  // A zeroed struct counts as one of release 0.1.
  const size_t size = err->struct_size == 0 ? sizeof(det_error) : err->struct_size;
  if (size < offsetof(det_error, message)) return code;
  err->code = code;
  err->os_errno = os_errno;
  err->http_status = http_status;
  err->retryable = retryable ? 1 : 0;
  const size_t room = std::min(size, sizeof(det_error)) - offsetof(det_error, message);
  det::copy_printable(message, err->message, room);
  return code;
}

}  // namespace

det_status det_translate_exception(det_error *err) noexcept {
  try {
    try {
      throw;
    } catch (const std::bad_alloc &) {
      throw;
    } catch (const std::exception &failure) {
      const det::Error e = det::as_error(failure);
      return fill(err, static_cast<det_status>(e.code), e.what(), e.os_errno, e.http_status,
                  e.retry.value_or(det::is_passing(e.code)));
    }
  } catch (const std::bad_alloc &) {
    return fill(err, DET_E_NOMEM, "out of memory");
  } catch (...) {
    return fill(err, DET_E_INTERNAL, "an exception of unknown type", 0, 0, false);
  }
}

std::optional<std::chrono::milliseconds> limit_from(det_timeout given,
                                                    std::chrono::milliseconds usual,
                                                    const char *name) {
  if (given == DET_TIMEOUT_DEFAULT) return usual;
  if (given == DET_TIMEOUT_INFINITE) return std::nullopt;
  if (given == DET_TIMEOUT_NONE) return std::chrono::milliseconds(0);
  if (given < 0)
    throw det::Error(det::Code::invalid, std::string(name) + " is " + std::to_string(given) +
                                             "; give milliseconds, or one of DET_TIMEOUT_*");
  return std::chrono::milliseconds(std::min<int64_t>(given, longest.count()));
}

std::chrono::milliseconds finite_limit_from(det_timeout given, std::chrono::milliseconds usual,
                                            const char *name) {
  return limit_from(given, usual, name).value_or(longest);
}

char *copy_text(const std::string &text) {
  auto *copy = static_cast<char *>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

const char *det_status_name(det_status code) noexcept {
  switch (code) {
    case DET_OK:
      return "DET_OK";
    case DET_DONE:
      return "DET_DONE";
    case DET_PREEMPTED:
      return "DET_PREEMPTED";
    case DET_E_INTERNAL:
      return "DET_E_INTERNAL";
    case DET_E_NOMEM:
      return "DET_E_NOMEM";
    case DET_E_INVALID:
      return "DET_E_INVALID";
    case DET_E_NOT_FOUND:
      return "DET_E_NOT_FOUND";
    case DET_E_IO:
      return "DET_E_IO";
    case DET_E_TIMEOUT:
      return "DET_E_TIMEOUT";
    case DET_E_CALLBACK:
      return "DET_E_CALLBACK";
    case DET_E_UNSUPPORTED:
      return "DET_E_UNSUPPORTED";
    case DET_E_STATE:
      return "DET_E_STATE";
    case DET_E_ACCESS:
      return "DET_E_ACCESS";
    case DET_E_CORRUPT:
      return "DET_E_CORRUPT";
    case DET_E_FULL:
      return "DET_E_FULL";
    case DET_E_BUSY:
      return "DET_E_BUSY";
    case DET_E_CONFLICT:
      return "DET_E_CONFLICT";
    case DET_E_UNAVAILABLE:
      return "DET_E_UNAVAILABLE";
    case DET_E_HTTP:
      return "DET_E_HTTP";
    default:
      return "DET_E_UNKNOWN";
  }
}
