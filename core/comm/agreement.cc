#include "core/comm/agreement.h"

#include <exception>

#include "core/base/error.h"
#include "core/base/json.h"

namespace det::comm {

namespace {

constexpr char value_mark = 'v';
constexpr char error_mark = 'e';

// What became of the work on this rank: a message for the others, and what it threw.
struct Outcome {
  std::string text;
  std::exception_ptr thrown;
};

std::string error_text(const Error &error) {
  return error_mark + to_wire(Json{{"code", static_cast<int>(error.code)},
                                   {"errno", error.os_errno},
                                   {"http", error.http_status},
                                   {"retry", error.retry ? Json(*error.retry) : Json()},
                                   {"message", error.what()}});
}

Outcome run(const Work &work) {
  try {
    return {value_mark + work(), nullptr};
  } catch (const std::exception &e) {
    return {error_text(as_error(e)), std::current_exception()};
  }
}

std::string value_of(const Message &message, const std::string &whose) {
  if (message && message->starts_with(value_mark)) return message->substr(1);
  if (!message || !message->starts_with(error_mark))
    throw Error(Code::corrupt, whose + " answered with no value and no error");
  const Json error = parse_json_object(message->substr(1), "the error of " + whose);
  const Error told(code_from(error.value("code", 0)),
                   whose + ": " + error.value("message", std::string()), error.value("errno", 0),
                   error.value("http", 0));
  const Json retry = error.value("retry", Json());
  if (retry.is_boolean()) throw told.with_retry(retry.get<bool>());
  throw Error(told);
}

std::vector<std::string> values_of(const Outcome &mine, const std::vector<Message> &messages,
                                   const char *kind) {
  if (mine.thrown) std::rethrow_exception(mine.thrown);
  std::vector<std::string> values;
  values.reserve(messages.size());
  for (const Message &message : messages)
    values.push_back(value_of(message, kind + std::to_string(values.size())));
  return values;
}

}  // namespace

std::string outcome_of(const Work &work) { return run(work).text; }

std::string value_in(const std::string &outcome, const std::string &whose) {
  return value_of(outcome, whose);
}

std::vector<std::string> all_agree(Communicator &communicator, const Call &call, const Work &work) {
  if (communicator.ranks().size == 1) return {work()};
  const Outcome mine = run(work);
  return values_of(mine, communicator.allgather(mine.text, call), "rank ");
}

std::vector<std::string> all_agree_local(Communicator &communicator, const Call &call,
                                         const Work &work) {
  if (communicator.ranks().local_size == 1) return {work()};
  const Outcome mine = run(work);
  return values_of(mine, communicator.allgather_local(mine.text, call), "local rank ");
}

std::string chief_decides(Communicator &communicator, const Call &call, const Work &work) {
  if (communicator.ranks().size == 1) return work();
  if (!communicator.is_chief())
    return value_of(communicator.broadcast(std::nullopt, call), "rank 0");
  Outcome mine = run(work);
  communicator.broadcast(mine.text, call);
  if (mine.thrown) std::rethrow_exception(mine.thrown);
  mine.text.erase(0, 1);  // what all agree on, this rank does not lose
  return std::move(mine.text);
}

std::string local_chief_decides(Communicator &communicator, const Call &call, const Work &work) {
  if (communicator.ranks().local_size == 1) return work();
  if (!communicator.is_local_chief())
    return value_of(communicator.broadcast_local(std::nullopt, call), "local rank 0");
  Outcome mine = run(work);
  communicator.broadcast_local(mine.text, call);
  if (mine.thrown) std::rethrow_exception(mine.thrown);
  mine.text.erase(0, 1);  // what all agree on, this rank does not lose
  return std::move(mine.text);
}

}  // namespace det::comm
