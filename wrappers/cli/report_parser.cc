#include "report_parser.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "exit_code.h"

namespace det::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr double missing = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

// Called by the parser of the library for what it finds.
class ReportHandler {
 public:
  using Take = std::function<void(const Report &report)>;
  explicit ReportHandler(const Take &take) : take_(take) {}

  std::optional<int64_t> next() const { return next_; }

  bool key(std::string &name) {
    key_.swap(name);
    return true;
  }
  bool start_object(size_t) {
    const Place place = innermost();
    Open opened{Place::other, prefix_.size()};
    if (place == Place::nowhere) opened.place = Place::answer;
    if (place == Place::reports) {
      opened.place = Place::report;
      report_ = {{}, missing, {}, {}};
    }
    if (place == Place::report && key_ == "metrics") opened.place = Place::values;
    if (place == Place::values) {
      opened.place = Place::values;
      prefix_ += key_ + ".";
    }
    open_.push_back(opened);
    return true;
  }
  bool end_object() {
    if (innermost() == Place::report) take_(report_);
    prefix_.resize(open_.back().prefix_size);
    open_.pop_back();
    return true;
  }
  bool start_array(size_t) {
    const bool reports = innermost() == Place::answer && key_ == "metrics";
    open_.push_back({reports ? Place::reports : Place::other, prefix_.size()});
    return true;
  }
  bool end_array() {
    open_.pop_back();
    return true;
  }

  bool number_integer(Json::number_integer_t value) {
    if (innermost() == Place::answer && key_ == "next") next_ = value;
    return number(static_cast<double>(value));
  }
  bool number_unsigned(Json::number_unsigned_t value) {
    if (innermost() == Place::answer && key_ == "next") next_ = static_cast<int64_t>(value);
    return number(static_cast<double>(value));
  }
  bool number_float(double value, const std::string &) { return number(value); }
  bool string(std::string &text) {
    const Place place = innermost();
    if (place == Place::report && key_ == "group") report_.group.swap(text);
    else if (place == Place::report && key_ == "time") report_.time.swap(text);
    else if (text == "NaN") return value(missing);
    else if (text == "Infinity") return value(infinity);
    else if (text == "-Infinity") return value(-infinity);
    return true;
  }
  bool null() { return value(missing); }
  bool boolean(bool) { return true; }
  bool binary(Json::binary_t &) { return true; }
  bool parse_error(size_t, const std::string &, const Json::exception &error) {
    throw Failure(ExitCode::internal, std::string("reading metrics: ") + error.what());
  }

 private:
  enum class Place { nowhere, answer, reports, report, values, other };
  struct Open {
    Place place;
    size_t prefix_size;  // before it was opened
  };

  Place innermost() const { return open_.empty() ? Place::nowhere : open_.back().place; }

  bool number(double number) {
    if (innermost() == Place::report && key_ == "steps_completed") report_.steps = number;
    return value(number);
  }
  bool value(double number) {
    if (innermost() == Place::values) report_.values.emplace_back(prefix_ + key_, number);
    return true;
  }

  const Take &take_;
  std::vector<Open> open_;
  std::string key_, prefix_;  // of values in values: "agent."
  Report report_;
  std::optional<int64_t> next_;
};

}  // namespace

std::optional<int64_t> parse_reports(std::string_view answer,
                                     const std::function<void(const Report &report)> &take) {
  ReportHandler handler(take);
  Json::sax_parse(answer.begin(), answer.end(), &handler);
  return handler.next();
}

}  // namespace det::cli
