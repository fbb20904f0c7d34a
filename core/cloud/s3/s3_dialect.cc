#include "core/cloud/s3/s3_dialect.h"

#include <cstdlib>

#include "core/base/clock.h"
#include "core/cloud/digest.h"
#include "core/cloud/s3/s3_refusal.h"
#include "core/http/date.h"

namespace det::cloud {

namespace {

constexpr const char *hash_header = "x-amz-content-sha256";
constexpr int64_t skew_taken = 240;  // seconds; S3 refuses from 900 on

int64_t now_s() { return now_us() / 1'000'000; }

std::string header_of(const http::HttpRequest &request, std::string_view name) {
  for (const http::HttpHeader &header : request.headers)
    if (header.name == name) return header.value;
  return {};
}

}  // namespace

S3Dialect::S3Dialect(const S3Options &options, std::shared_ptr<CredentialChain> credentials,
                     std::shared_ptr<Logger> logger)
    : endpoint_(options),
      credentials_(std::move(credentials)),
      logger_(std::move(logger)),
      signs_payload_(options.sign_payload.value_or(!endpoint_.is_protected())),
      requester_pays_(options.requester_pays) {}

void S3Dialect::sign(http::HttpRequest &request) {
  request.url = endpoint_.url(request.url);
  if (requester_pays_) request.headers.push_back({"x-amz-request-payer", "requester"});
  if (!credentials_) return;
  std::string hash = header_of(request, hash_header);
  if (hash.empty()) {
    hash = request.source ? unsigned_payload : to_hex(sha256(request.body));
    request.headers.push_back({hash_header, hash});
  }
  signer_.sign(request, credentials_->get(), endpoint_.region(), now_s() + clock_behind_, hash);
}

Refusal S3Dialect::refusal_of(const http::HttpAnswer &answer) {
  Refusal refusal = s3_refusal(answer);
  // Another try only makes sense where something can be other then.
  if (refusal.again == Refusal::Again::renewed && !credentials_ && s3_region_in(answer).empty())
    refusal.again = Refusal::Again::no;
  if (!credentials_ && refusal.code == Code::access)
    refusal.remedy = "this bucket wants credentials: take \"anonymous\" out of checkpoint_storage";
  return refusal;
}

// Where the answer names no region and the clocks agree, it is the credentials.
void S3Dialect::renew(const http::HttpAnswer &answer) {
  if (const std::string region = s3_region_in(answer); endpoint_.move_to(region)) {
    logger_->info("the bucket is in ", region,
                  "; say so in checkpoint_storage (region) or AWS_REGION to spare a request");
    return;
  }
  if (const auto date = http::parse_date(answer.header("date"))) {
    const int64_t behind = *date - now_s();
    if (std::abs(behind - clock_behind_) > skew_taken) {
      logger_->warning("the clock of this machine differs from the store's by ",
                       std::to_string(behind), " s; requests are signed for the store's");
      clock_behind_ = behind;
      return;
    }
  }
  if (credentials_) credentials_->drop();
}

}  // namespace det::cloud
