#include "core/cloud/gcs/subject_program.h"

#include <chrono>

#include "core/base/clock.h"
#include "core/base/environment.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/base/run_command.h"
#include "core/cloud/gcs/credentials_file.h"
#include "core/cloud/gcs/impersonated_account.h"

namespace det::cloud {

namespace {

constexpr const char *allowing = "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES";
constexpr std::chrono::milliseconds default_limit{30'000};

struct Program {
  std::string command, output_file, file;
  std::vector<std::string> variables{};
  std::chrono::milliseconds limit = default_limit;
};

[[noreturn]] void give_up_on(const Program &program, const std::string &why) {
  throw Error(Code::access,
              "asking the program of '" + program.file + "' for a token of this job: " + why);
}

// Without a time it holds for this once.
bool has_expired(const Json &told) {
  const auto ends = told.find("expiration_time");
  return ends == told.end() || !ends->is_number() ||
         ends->get<double>() * 1e6 <= static_cast<double>(now_us());
}

std::string token_in(const Json &told) {
  const bool is_saml =
      optional_text(told, "token_type") == "urn:ietf:params:oauth:token-type:saml2";
  return optional_text(told, is_saml ? "saml_response" : "id_token");
}

std::string kept_token(const Program &program) {
  std::error_code absent;
  if (program.output_file.empty() || !std::filesystem::exists(program.output_file, absent))
    return "";
  try {
    const Json told = parse_json_object(read_file(program.output_file), "it");
    return told.value("success", false) && !has_expired(told) ? token_in(told) : "";
  } catch (const std::exception &) {
    return "";  // the program says it anew
  }
}

// Nothing of its output but what it says of a failure: there is a secret in it.
std::string new_token(const Program &program) {
  CommandResult result;
  try {
    result = run_command(program.command, program.variables, program.limit);
  } catch (const Error &error) {
    give_up_on(program, error.what());
  }
  if (result.status != 0) give_up_on(program, "its status was " + std::to_string(result.status));
  Json told;
  try {
    told = parse_json_object(result.output, "it");
  } catch (const Error &) {
    give_up_on(program, "it wrote no JSON object");
  }
  const auto success = told.find("success");
  if (success == told.end() || *success != true)
    give_up_on(program, "it has none: " + printable(optional_text(told, "message").substr(0, 300)));
  const std::string token = token_in(told);
  if (token.empty()) give_up_on(program, "it wrote neither an id_token nor a saml_response");
  return token;
}

std::string token_of_program(const Program &program) {
  if (environment_variable(allowing) != "1")
    give_up_on(program, std::string("programs run only where ") + allowing +
                            "=1; set it, if you trust "
                            "that file");
  const std::string kept = kept_token(program);
  return kept.empty() ? new_token(program) : kept;
}

}  // namespace

SubjectTokenSource subject_program(const Json &account, const Json &program,
                                   const std::string &file) {
  Program made{.command = required_text(program, "command", file),
               .output_file = optional_text(program, "output_file"),
               .file = file};
  const auto limit = program.find("timeout_millis");
  if (limit != program.end() && limit->is_number_unsigned())
    made.limit = std::chrono::milliseconds{std::min<uint64_t>(limit->get<uint64_t>(), 120'000)};
  const std::string acting = optional_text(account, "service_account_impersonation_url");
  const std::string prefix = "GOOGLE_EXTERNAL_ACCOUNT_";
  made.variables = {prefix + "AUDIENCE=" + required_text(account, "audience", file),
                    prefix + "TOKEN_TYPE=" + required_text(account, "subject_token_type", file),
                    prefix + "INTERACTIVE=0"};
  if (!acting.empty())
    made.variables.push_back(prefix + "IMPERSONATED_EMAIL=" + impersonated_email(acting));
  if (!made.output_file.empty())
    made.variables.push_back(prefix + "OUTPUT_FILE=" + made.output_file);
  return [made] { return token_of_program(made); };
}

}  // namespace det::cloud
