#include "wrappers/cli/commands/ids.h"

#include <algorithm>
#include <cctype>

#include "wrappers/cli/text/field_text.h"

namespace det::cli {

namespace {

constexpr size_t shortest_id = 8;

// Longer ones are no ids, and may be external ids.
constexpr size_t most_digits = 18;

bool is_number(const std::string &text) {
  return !text.empty() && text.size() <= most_digits && text[0] != '0' &&
         text.find_first_not_of("0123456789") == text.npos;
}

// Tells of a checkpoint where a trial is wanted.
void refuse_checkpoint(Client &client, const std::string &text) {
  Json checkpoint;
  try {
    checkpoint = client.find_checkpoint(text);
  } catch (const Failure &) {
    return;
  }
  throw Failure(ExitCode::not_found,
                "'" + text + "' is checkpoint " + text_of(field(checkpoint, "uuid")) +
                    ", and no trial; it is of trial " + text_of(field(checkpoint, "trial_id")));
}

}  // namespace

int64_t find_trial(Client &client, const std::string &text) {
  if (is_number(text)) return parse_id(text, "TRIAL");
  try {
    return field(client.find_trial(text), "id").get<int64_t>();
  } catch (const Failure &failure) {
    if (failure.code == ExitCode::not_found) refuse_checkpoint(client, text);
    throw;
  }
}

CLI::Option *add_trial(CLI::App *command, Session &session, const std::string &kind, int64_t &id,
                       const std::string &description, const bool *experiment) {
  const auto settle = [&session, &id, kind, experiment](const std::string &text) {
    if (is_number(text)) {
      id = parse_id(text, kind);
      return;
    }
    session.unsettled.push_back([&id, text, experiment](Client &client) {
      id = experiment && *experiment ? parse_id(text, "EXPERIMENT") : find_trial(client, text);
    });
  };
  return command->add_option_function<std::string>(kind, settle, description)->type_name("");
}

bool is_uuid(const std::string &text) {
  const std::string pattern = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  return std::equal(text.begin(), text.end(), pattern.begin(), pattern.end(), [](char c, char p) {
    return p == '-' ? c == '-' : std::isxdigit(static_cast<unsigned char>(c)) != 0;
  });
}

std::vector<std::string> short_ids(const std::vector<std::string> &ids) {
  std::vector<std::string> sorted = ids, out;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  size_t length = shortest_id;
  for (size_t i = 1; i < sorted.size(); ++i) {
    const auto [left, right] = std::mismatch(sorted[i - 1].begin(), sorted[i - 1].end(),
                                             sorted[i].begin(), sorted[i].end());
    length = std::max(length, static_cast<size_t>(right - sorted[i].begin()) + 1);
  }
  for (const std::string &id : ids) out.push_back(is_uuid(id) ? id.substr(0, length) : id);
  return out;
}

}  // namespace det::cli
