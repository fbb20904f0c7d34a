// The decisions of a custom search, in the form of the platform.
#include <charconv>
#include <cmath>
#include <utility>

#include "core/base/error.h"
#include "core/search/custom.h"

namespace det::search {

namespace {

[[noreturn]] void refuse(const std::string &problem) {
  throw Error(Code::invalid, "reading an operation of a search: " + problem);
}

std::string request_id(const Json &body) {
  const Json id = body.value("requestId", Json());
  const std::string text = id.is_string() ? id.get<std::string>() : std::string();
  bool well_formed = text.size() == 36;
  for (size_t i = 0; well_formed && i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    well_formed = dash ? text[i] == '-' : std::isxdigit(static_cast<unsigned char>(text[i])) != 0;
  }
  if (!well_formed) refuse("requestId is " + to_wire(id) + "; give a UUID");
  return text;
}

// A number, or its digits as a text.
uint64_t length(const Json &body) {
  const Json value = body.value("length", Json());
  if (value.is_number_unsigned()) return value.get<uint64_t>();
  uint64_t number = 0;
  if (value.is_string()) {
    const auto &text = value.get_ref<const std::string &>();
    const char *end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, number);
    if (result.ec == std::errc() && result.ptr == end) return number;
  }
  refuse("length is " + to_wire(value) + "; give a whole number that is not negative");
}

Json hyperparameters(const Json &body) {
  const Json value = body.value("hyperparams", Json());
  if (!value.is_string()) refuse("hyperparams is " + to_wire(value) + "; give a JSON text");
  return parse_json_object(value.get_ref<const std::string &>(), "hyperparams");
}

bool flag(const Json &body, const char *name) {
  const Json value = body.value(name, Json(false));
  if (!value.is_boolean())
    refuse(std::string(name) + " is " + to_wire(value) + "; give true or false");
  return value.get<bool>();
}

double fraction(const Json &body) {
  const Json value = body.value("progress", Json(0));
  if (!value.is_number() || !std::isfinite(value.get<double>()))
    refuse("progress is " + to_wire(value) + "; give a number from 0 to 1");
  return value.get<double>();
}

Decision read_operation(const Json &operation) {
  if (!operation.is_object() || operation.size() != 1 || !operation.front().is_object())
    refuse(to_wire(operation) + " is none; give an object like {\"closeTrial\": {...}}");
  const std::string kind = operation.begin().key();
  const Json &body = operation.front();
  if (kind == "createTrial")
    return CreateTrial{request_id(body), CustomSearch::trial_seed, hyperparameters(body)};
  if (kind == "trialOperation") {
    const auto validate = body.find("validateAfter");
    if (validate == body.end() || !validate->is_object())
      refuse("trialOperation has no validateAfter; give it one");
    return ValidateAfter{request_id(*validate), length(*validate)};
  }
  if (kind == "closeTrial") return CloseTrial{request_id(body)};
  if (kind == "shutDown") return Shutdown{flag(body, "cancel"), flag(body, "failure")};
  if (kind == "setSearcherProgress") return SetProgress{fraction(body)};
  refuse("there is no " + kind +
         "; take createTrial, trialOperation, closeTrial, shutDown or setSearcherProgress");
}

}  // namespace

Decisions read_operations(const Json &operations, std::vector<std::string> &refused) {
  Decisions decisions;
  for (const Json &operation : operations) {
    try {
      decisions.push_back(read_operation(operation));
    } catch (const Error &e) {
      refused.emplace_back(e.what());
    }
  }
  return decisions;
}

}  // namespace det::search
