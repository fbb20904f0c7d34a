// Accounts of other identity providers, and accounts that others may act as.
#include "core/cloud/gcs/google_credentials.h"

#include <chrono>
#include <functional>
#include <string>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/process/environment.h"
#include "core/base/process/run_command.h"
#include "core/base/text/base64.h"
#include "core/base/text/printable.h"
#include "core/cloud/gcs/google_answer.h"
#include "core/cloud/storage_fields.h"

namespace det::cloud {

namespace {

// Tokens of IAM with them, for this scope.
constexpr const char *cloud_platform_scope = "https://www.googleapis.com/auth/cloud-platform";

// "job@project.iam.gserviceaccount.com" of ".../serviceAccounts/job@...:generateAccessToken".
std::string impersonated_email(const std::string &url) {
  const std::string name = url.substr(url.rfind('/') + 1);
  return name.substr(0, name.find(':'));
}

constexpr int64_t default_lifetime_s = 3600;

class Impersonated : public GoogleCredentials {
 public:
  Impersonated(std::unique_ptr<GoogleCredentials> source, std::string url, Json delegates,
               int64_t lifetime_s, TokenContext context)
      : source_(std::move(source)),
        url_(std::move(url)),
        delegates_(std::move(delegates)),
        lifetime_s_(lifetime_s),
        context_(std::move(context)) {
    quota_project = source_->quota_project;
  }

  std::string name() const override {
    return "the service account '" + impersonated_email(url_) + "', as which " + source_->name() +
           " acts";
  }

  AccessToken fetch(RequestScope *scope) override {
    Json asked{{"scope", Json::array({context_.scope})},
               {"lifetime", std::to_string(lifetime_s_) + "s"}};
    if (!delegates_.empty()) asked["delegates"] = delegates_;
    const Json answer = context_.service->within(scope).post_json(
        "asking IAM for a token of " + name(), url_, asked,
        {{"Authorization", "Bearer " + source_->fetch(scope).value}});
    const auto ends = parse_iso8601(text_member(answer, "expireTime"));
    if (!ends) throw Error(Code::corrupt, "the answer is damaged: its expireTime is no time");
    return {text_member(answer, "accessToken"),
            std::chrono::system_clock::time_point{std::chrono::microseconds{*ends}}};
  }

 private:
  const std::unique_ptr<GoogleCredentials> source_;
  const std::string url_;
  const Json delegates_;
  const int64_t lifetime_s_;
  const TokenContext context_;
};

// Acts as the account that `url` (…:generateAccessToken) names, by the tokens of `source`, whose
// scope must be that of the cloud platform.
std::unique_ptr<GoogleCredentials> impersonated(std::unique_ptr<GoogleCredentials> source,
                                                const std::string &url, const Json &delegates,
                                                int64_t lifetime_s, const TokenContext &context) {
  return std::make_unique<Impersonated>(std::move(source), url, delegates,
                                        lifetime_s > 0 ? lifetime_s : default_lifetime_s, context);
}

// Gives the token as it is now. Blocks; throws Code::access where there is none.
using SubjectTokenSource = std::function<std::string(RequestScope *)>;

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

// `program` is the executable in the credential_source of `account`. What it wrote into its output
// file is used as long as it holds.
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
  return [made](RequestScope *) { return token_of_program(made); };
}

// As text, or in a member of a JSON object.
class TokenFormat {
 public:
  TokenFormat(const Json &source, const std::string &file) {
    const auto format = source.find("format");
    if (format == source.end() || !format->is_object()) return;
    const std::string type = optional_text(*format, "type");
    if (type == "json") member_ = required_text(*format, "subject_token_field_name", file);
    else if (!type.empty() && type != "text")
      refuse_credentials(file, "the format of their credential_source is neither text nor json");
  }

  // Throws Code::access, naming nothing of the text.
  std::string token_in(const std::string &text, const std::string &where) const {
    std::string token = member_.empty() ? text : member_of(text, where);
    token.erase(token.find_last_not_of(" \t\r\n") + 1);
    if (token.empty()) throw Error(Code::access, "reading a token from " + where + ": it is empty");
    return token;
  }

 private:
  std::string member_of(const std::string &text, const std::string &where) const {
    try {
      return optional_text(parse_json_object(text, where), member_.c_str());
    } catch (const Error &) {
      throw Error(Code::access, "reading a token from " + where + ": it is no JSON object");
    }
  }

  std::string member_;
};

std::vector<http::HttpHeader> headers_in(const Json &source) {
  std::vector<http::HttpHeader> headers;
  const auto found = source.find("headers");
  if (found == source.end() || !found->is_object()) return headers;
  for (const auto &[name, value] : found->items())
    if (value.is_string()) headers.push_back({name, value.get<std::string>()});
  return headers;
}

// From the credential_source of an external account: a file, a URL, or a program, which runs only
// where GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1. `service` must outlive it.
SubjectTokenSource subject_token_source(const Json &account, const std::string &file,
                                        TokenService &service) {
  const auto found = account.find("credential_source");
  if (found == account.end() || !found->is_object())
    refuse_credentials(file, "they have no credential_source");
  const Json &source = *found;
  const TokenFormat format(source, file);
  if (const std::string path = optional_text(source, "file"); !path.empty())
    return [format, path](RequestScope *) {
      try {
        return format.token_in(read_file(path), "'" + path + "'");
      } catch (const Error &error) {
        throw Error(Code::access, error.what(), error.os_errno);
      }
    };
  if (const std::string url = optional_text(source, "url"); !url.empty())
    return [format, url, headers = headers_in(source), &service](RequestScope *scope) {
      const std::string where = "'" + url.substr(0, url.find('?')) + "'";
      const http::HttpResponse answer =
          service.within(scope).get("asking " + where + " for a token of this job", url, headers);
      return format.token_in(answer.body, where);
    };
  if (const auto program = source.find("executable");
      program != source.end() && program->is_object())
    return subject_program(account, *program, file);
  refuse_credentials(file,
                     "their credential_source names neither a file, nor a URL, nor an executable, "
                     "which are those that are known here");
}

class ExternalAccount : public GoogleCredentials {
 public:
  ExternalAccount(const Json &content, const std::string &file, TokenContext context)
      : file_(file),
        url_(required_text(content, "token_url", file)),
        context_(std::move(context)),
        subject_(subject_token_source(content, file, *context_.service)) {
    fields_ = {{"grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"},
               {"requested_token_type", "urn:ietf:params:oauth:token-type:access_token"},
               {"audience", required_text(content, "audience", file)},
               {"subject_token_type", required_text(content, "subject_token_type", file)},
               {"scope", context_.scope}};
    const std::string client = optional_text(content, "client_id");
    const std::string project = optional_text(content, "workforce_pool_user_project");
    if (!client.empty())
      headers_ = {{"Authorization",
                   "Basic " + to_base64(client + ":" + optional_text(content, "client_secret"))}};
    else if (!project.empty()) fields_.push_back({"options", to_wire({{"userProject", project}})});
  }

  std::string name() const override { return "the external account of '" + file_ + "'"; }

  AccessToken fetch(RequestScope *scope) override {
    FormFields fields = fields_;
    fields.push_back({"subject_token", subject_(scope)});
    return token_of(context_.service->within(scope).post_form(
        "exchanging a token of " + name() + " at '" + url_ + "'", url_, fields, headers_));
  }

 private:
  const std::string file_, url_;
  const TokenContext context_;
  const SubjectTokenSource subject_;
  FormFields fields_;
  std::vector<http::HttpHeader> headers_;
};

int64_t impersonation_lifetime(const Json &content) {
  const auto options = content.find("service_account_impersonation");
  if (options == content.end() || !options->is_object()) return 0;
  const auto lifetime = options->find("token_lifetime_seconds");
  return lifetime != options->end() && lifetime->is_number_integer() ? lifetime->get<int64_t>() : 0;
}

}  // namespace

std::unique_ptr<GoogleCredentials> impersonated_account(const Json &content,
                                                        const std::string &file,
                                                        const TokenContext &context) {
  const auto source = content.find("source_credentials");
  if (source == content.end() || !source->is_object())
    refuse_credentials(file, "they have no source_credentials");
  if (optional_text(*source, "type") == "impersonated_service_account")
    refuse_credentials(file, "their source_credentials are impersonated themselves");
  TokenContext of_source = context;
  of_source.scope = cloud_platform_scope;
  const auto delegates = content.find("delegates");
  return impersonated(google_credentials(*source, file, of_source),
                      required_text(content, "service_account_impersonation_url", file),
                      delegates != content.end() ? *delegates : Json::array(), 0, context);
}

std::unique_ptr<GoogleCredentials> external_account(const Json &content, const std::string &file,
                                                    const TokenContext &context) {
  const std::string url = optional_text(content, "service_account_impersonation_url");
  if (url.empty()) return std::make_unique<ExternalAccount>(content, file, context);
  TokenContext of_source = context;
  of_source.scope = cloud_platform_scope;
  return impersonated(std::make_unique<ExternalAccount>(content, file, of_source), url,
                      Json::array(), impersonation_lifetime(content), context);
}

}  // namespace det::cloud
