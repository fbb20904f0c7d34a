// What every function of the C API is made of: unwrap the arguments, call the core once, and turn
// whatever it throws into a status.
#pragma once

#include <det/error.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "core/base/error.h"

// Rethrows the exception being handled and describes it in `err`, which may be NULL.
det_status det_translate_exception(det_error *err) noexcept;

template <class Body>
det_status guarded(det_error *err, Body &&body) noexcept {
  try {
    std::forward<Body>(body)();
    return DET_OK;
  } catch (...) {
    return det_translate_exception(err);
  }
}

// For what cannot be done a second time, or would only look as if it had gone well.
template <class Body>
void once(Body &&body) {
  try {
    std::forward<Body>(body)();
  } catch (const det::Error &e) {
    throw e.with_retry(false);
  }
}

// As guarded(), for bodies that answer with a status of their own.
template <class Body>
det_status answered(det_error *err, Body &&body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (...) {
    return det_translate_exception(err);
  }
}

// For functions that cannot fail: `fallback` when the body throws.
template <class T, class Body>
T or_else(T fallback, Body &&body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (...) {
    return fallback;
  }
}

template <class T>
T &deref(T *pointer, const char *name) {
  if (pointer == nullptr)
    throw det::Error(det::Code::invalid, std::string(name) + " must not be NULL");
  return *pointer;
}

// An out parameter, cleared at once so that it is NULL after any failure.
template <class T>
T *&cleared(T **out, const char *name) {
  return deref(out, name) = nullptr;
}

// For several out parameters: all of them are cleared, also where one is NULL.
template <class... Outs>
void clear(Outs *...outs) {
  const auto clear_one = [](auto *out) {
    if (out != nullptr) *out = {};
  };
  (clear_one(outs), ...);
}

// Clears the out parameter, then fills it with what `make` gives.
template <class T, class Make>
void give(T **out, const char *name, Make &&make) {
  T *&result = cleared(out, name);
  result = std::forward<Make>(make)();
}

// A number of things; what a caller has computed as -1 is refused as that.
inline size_t counted(size_t count, const char *name) {
  if (count > PTRDIFF_MAX)
    throw det::Error(det::Code::invalid, std::string(name) + " must not be negative: " +
                                             std::to_string(static_cast<ptrdiff_t>(count)));
  return count;
}

inline const char *text(const char *argument, const char *name) { return &deref(argument, name); }

inline std::string text_or_empty(const char *argument) {
  return argument != nullptr ? argument : "";
}

// What a det_timeout means, with `usual` for the default; none: without limit.
std::optional<std::chrono::milliseconds> limit_from(det_timeout given,
                                                    std::chrono::milliseconds usual,
                                                    const char *name);

// As limit_from(), for code that adds it to a point in time.
std::chrono::milliseconds finite_limit_from(det_timeout given, std::chrono::milliseconds usual,
                                            const char *name);

// A copy on the C heap, for det_free().
char *copy_text(const std::string &text);

// Room for the id of what a call is about to make: once it is made, nothing may fail any more.
class RoomForId {
 public:
  RoomForId() : text_(copy_text(std::string(length, '-'))) {}
  RoomForId(const RoomForId &) = delete;
  RoomForId &operator=(const RoomForId &) = delete;
  ~RoomForId() { det_free(text_); }

  char *take(const std::string &uuid) noexcept {
    std::memcpy(text_, uuid.c_str(), std::min(uuid.size(), length) + 1);
    return std::exchange(text_, nullptr);
  }

 private:
  static constexpr size_t length = 36;
  char *text_;
};

// Refuses what cannot be the size of such a struct, of any release: unset, larger than any, or one
// that ends inside a member.
template <class Struct>
void check_struct_size(size_t size, const char *name) {
  constexpr size_t most = 65536;  // no release has that many fields
  const char *const set_by = "; set it to the size of the struct, as the _INIT macro does";
  if (size < sizeof(size_t))
    throw det::Error(det::Code::invalid, std::string(name) + ".struct_size is not set" + set_by);
  if (size > most || size % alignof(Struct) != 0)
    throw det::Error(det::Code::invalid, std::string(name) + ".struct_size is " +
                                             std::to_string(size) + ", which no release has" +
                                             set_by);
}

// The defaults, overlaid with what the caller's struct has: a caller compiled against an older
// release has a shorter one, and a newer one may have a longer one as long as its tail is zero.
template <class Options>
Options read_options(const Options *given, const Options &defaults, const char *name) {
  Options options = defaults;
  if (given == nullptr) return options;
  const size_t size = given->struct_size;
  check_struct_size<Options>(size, name);
  const auto *bytes = reinterpret_cast<const unsigned char *>(given);
  if (size > sizeof options &&
      std::any_of(bytes + sizeof options, bytes + size, [](unsigned char b) { return b != 0; }))
    throw det::Error(det::Code::unsupported,
                     std::string(name) +
                         " uses a field that this release of the library does not "
                         "know; update the library or leave the field at 0");
  std::memcpy(&options, given, std::min(size, sizeof options));
  options.struct_size = sizeof options;
  if constexpr (requires { options.reserved; }) {
    if (options.reserved != 0)
      throw det::Error(det::Code::unsupported,
                       std::string(name) + ".reserved is " + std::to_string(options.reserved) +
                           ", which a later release may know; leave it at 0, as the _INIT macro "
                           "does");
  }
  return options;
}
