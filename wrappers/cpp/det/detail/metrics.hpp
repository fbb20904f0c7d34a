// Makes the array of det_metric for C from any range of {name, value}.
#pragma once

#include <det/train.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace det {
inline namespace v1 {
namespace detail {

// Room for `count` items. It uses the heap only for more than `Few`.
template <class T, size_t Few>
class Room {
 public:
  explicit Room(size_t count) : many_(count > Few ? new T[count] : nullptr) {}
  [[nodiscard]] T *data() noexcept { return many_ != nullptr ? many_.get() : few_; }

 private:
  T few_[Few];  // not initialised: that would take longer than the report
  std::unique_ptr<T[]> many_;
};

// A name that may lack its NUL is copied. Others are used in place.
inline size_t size_of_copy(const char *) noexcept { return 0; }
inline size_t size_of_copy(const std::string &) noexcept { return 0; }
inline size_t size_of_copy(std::string_view name) noexcept { return name.size() + 1; }
inline const char *in_place(const char *name, char *&) noexcept { return name; }
inline const char *in_place(const std::string &name, char *&) noexcept { return name.c_str(); }
inline const char *in_place(std::string_view name, char *&copy) noexcept {
  char *const begin = copy;
  copy = std::copy(name.begin(), name.end(), begin);
  *copy++ = '\0';
  return begin;
}

template <class Metric>
const auto &name_of(const Metric &metric) noexcept {
  const auto &[name, value] = metric;
  static_assert(std::is_convertible_v<decltype(value), double>,
                "the value of a metric is a number");
  return name;
}

template <class Range>
auto is_array_of_metrics(int)
    -> std::is_convertible<decltype(std::data(std::declval<Range &>())), const det_metric *>;
template <class>
std::false_type is_array_of_metrics(long);

// Calls `report(const det_metric *, size_t)` with the metrics.
template <class Range, class Report>
void with_metrics(Range &range, Report &&report) {
  if constexpr (decltype(is_array_of_metrics<Range>(0))::value) {
    report(std::data(range), std::size(range));
  } else {
    size_t count = 0, names_size = 0;
    for (const auto &metric : range) {
      names_size += size_of_copy(name_of(metric));
      ++count;
    }
    constexpr size_t few = 256, few_names = 4096;
    Room<det_metric, few> metrics(count);
    Room<char, few_names> names(names_size);
    char *copy = names.data();
    size_t i = 0;
    for (const auto &metric : range) {
      const auto &[name, value] = metric;
      metrics.data()[i++] = {in_place(name, copy), static_cast<double>(value)};
    }
    report(static_cast<const det_metric *>(metrics.data()), count);
  }
}

}  // namespace detail
}  // namespace v1
}  // namespace det
