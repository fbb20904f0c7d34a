#include "core/cloud/azure/entra_request.h"

#include <charconv>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/percent.h"
#include "core/base/printable.h"

namespace det::cloud {

namespace {

std::string text_in(const Json &object, const char *name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// Services disagree about whether these are numbers.
std::optional<int64_t> seconds_in(const Json &object, const char *name) {
  const auto found = object.find(name);
  if (found == object.end()) return std::nullopt;
  if (found->is_number()) return static_cast<int64_t>(found->get<double>());
  const std::string text = text_in(object, name);
  int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return seconds;
}

Json object_in(const std::string &text) {
  try {
    return parse_json_object(text, "it");
  } catch (const Error &) {
    return Json::object();
  }
}

class EntraDialect : public Dialect {
 public:
  void sign(http::HttpRequest &) override {}
  void renew(const http::HttpAnswer &) override {}

  Refusal refusal_of(const http::HttpAnswer &answer) override {
    const Json body = object_in(answer.body);
    Refusal refusal{Code::access, Refusal::Again::no, "status " + std::to_string(answer.status),
                    ""};
    for (const char *name : {"error", "error_description"})
      if (const std::string text = text_in(body, name); !text.empty())
        refusal.reason += ", " + printable(text.substr(0, std::min<size_t>(300, text.find('\r'))));
    // The service of a machine is updated now and then, and says 404 or 410 meanwhile.
    const int status = answer.status;
    if (status == 404 || status == 408 || status == 410 || status == 429 || status >= 500) {
      refusal.code = Code::unavailable;
      refusal.again = Refusal::Again::soon;
    } else {
      refusal.remedy = "check the identity, its secret and the clock of this machine";
    }
    return refusal;
  }
};

}  // namespace

AzureToken azure_token_of(const std::string &json, const std::string &whose) {
  const Json answer = object_in(json);
  std::string token = text_in(answer, "access_token");
  if (token.empty()) token = text_in(answer, "accessToken");
  if (token.empty() || token.find_first_of("\r\n ") != token.npos)
    throw Error(Code::corrupt, "asking for a token of " + whose + ": the answer holds none");
  using Clock = Renewed<std::string>::Clock;
  const auto life = seconds_in(answer, "expires_in");
  const auto end = seconds_in(answer, "expires_on");
  const Clock::time_point ends = life  ? Clock::now() + std::chrono::seconds(*life)
                                 : end ? Clock::time_point(std::chrono::seconds(*end))
                                       : Clock::now() + std::chrono::minutes(10);
  return {std::move(token), ends};
}

AzureToken ask_for_azure_token(http::HttpRequest request, const std::string &whose,
                               const http::HttpOptions &options, const RequestPolicy &policy,
                               const std::shared_ptr<Logger> &logger) {
  Requests requests(options, policy, std::make_shared<EntraDialect>(), logger);
  const http::HttpAnswer answer =
      requests.perform({.tried = "asking for a token of " + whose, .request = std::move(request)});
  return azure_token_of(answer.body, whose);
}

std::string form_of(const std::vector<std::pair<const char *, std::string>> &fields) {
  std::string form;
  for (const auto &[name, value] : fields)
    form += (form.empty() ? "" : "&") + std::string(name) + "=" + percent_encoded(value);
  return form;
}

}  // namespace det::cloud
