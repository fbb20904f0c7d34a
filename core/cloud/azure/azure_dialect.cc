#include "core/cloud/azure/azure_dialect.h"

#include <cstdlib>

#include "core/base/clock.h"
#include "core/cloud/azure/azure_refusal.h"
#include "core/http/date.h"

namespace det::cloud {

namespace {

// Of the service; later ones change nothing that is used here. Local servers know it too.
constexpr const char *version = "2021-12-02";
constexpr int64_t skew_taken = 240;  // seconds; Azure refuses from 900 on

int64_t now_s() { return now_us() / 1'000'000; }

}  // namespace

AzureDialect::AzureDialect(std::unique_ptr<AzureCredentials> credentials,
                           std::shared_ptr<Logger> logger)
    : credentials_(std::move(credentials)), logger_(std::move(logger)) {}

void AzureDialect::sign(http::HttpRequest &request) {
  request.headers.push_back({"x-ms-version", version});
  sign_part(request);
}

void AzureDialect::sign_part(http::HttpRequest &request) {
  request.headers.push_back({"x-ms-date", http::write_date(now_s() + clock_behind_)});
  credentials_->sign(request);
}

int64_t AzureDialect::skew_in(const http::HttpAnswer &answer) const {
  const auto date = http::parse_date(answer.header("date"));
  if (!date) return 0;
  const int64_t behind = *date - now_s();
  return std::abs(behind - clock_behind_) > skew_taken ? behind : 0;
}

Refusal AzureDialect::refusal_of(const http::HttpAnswer &answer) {
  Refusal refusal = azure_refusal(answer);
  const std::string code = azure_error_code(answer);
  // What nobody may see is not there for those who do not say who they are.
  if (code == "ResourceNotFound" && credentials_->is_anonymous())
    refusal = {Code::access, Refusal::Again::renewed, refusal.reason, ""};
  if (refusal.code != Code::access) return refusal;
  if (refusal.remedy.empty() || credentials_->is_anonymous())
    refusal.remedy = credentials_->remedy();
  if (code == "AuthorizationFailure")
    refusal.remedy += "; the network rules of the account may also keep this machine out";
  if (const int64_t skew = skew_in(answer); skew != 0)
    refusal.remedy = "set the clock of this machine, which differs from the store's by " +
                     std::to_string(std::abs(skew)) + " s";
  else if (refusal.again == Refusal::Again::renewed && !credentials_->can_drop())
    refusal.again = Refusal::Again::no;
  return refusal;
}

void AzureDialect::renew(const http::HttpAnswer &answer) {
  const int64_t skew = skew_in(answer);
  if (skew == 0) return credentials_->drop();
  logger_->warning("the clock of this machine differs from the store's by ", std::to_string(skew),
                   " s; requests are signed for the store's");
  clock_behind_ = skew;
}

}  // namespace det::cloud
