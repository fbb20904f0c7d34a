#include "core/cloud/s3/s3_protocol.h"

#include <algorithm>

#include "core/base/text/lower_case.h"
#include "core/cloud/digest.h"
#include "core/cloud/store_refusal.h"
#include "core/cloud/xml.h"

namespace det::cloud {

namespace {

using Again = Refusal::Again;

constexpr const char *give_rights =
    "give these credentials the right to it (docs/object-stores.md has the policy), or use others";
constexpr const char *check_region = "set the bucket's region (region, AWS_REGION)";
constexpr const char *check_clock = "set the clock of this machine";

constexpr RefusalClass classes[] = {
    {"AccessDenied", Code::access, Again::no, give_rights},
    {"AllAccessDisabled", Code::access, Again::no, "ask the owner of the bucket"},
    {"AccountProblem", Code::access, Again::no, "ask the owner of the account"},
    {"InvalidAccessKeyId", Code::access, Again::renewed, "check the access key"},
    {"XAdminUserNotFound", Code::access, Again::renewed, "check the access key"},  // versitygw
    {"SignatureDoesNotMatch", Code::access, Again::no, "check the secret key"},
    {"ExpiredToken", Code::access, Again::renewed, "log in again, or renew the credentials"},
    {"TokenRefreshRequired", Code::access, Again::renewed, "renew the credentials"},
    {"InvalidToken", Code::access, Again::renewed, "renew the credentials"},
    {"InvalidTokenId", Code::access, Again::renewed, "renew the credentials"},  // MinIO
    {"RequestTimeTooSkewed", Code::access, Again::renewed, check_clock},
    {"RequestExpired", Code::access, Again::renewed, check_clock},
    {"ObjectLocked", Code::access, Again::no, "the bucket keeps it for a while (object lock)"},
    {"NoSuchBucket", Code::not_found, Again::no, "make the bucket, or correct its name"},
    {"NoSuchKey", Code::not_found, Again::no},
    {"NoSuchUpload", Code::not_found, Again::no, "it has been aborted or completed"},
    {"NoSuchVersion", Code::not_found, Again::no},
    {"PermanentRedirect", Code::invalid, Again::renewed, check_region},
    {"AuthorizationHeaderMalformed", Code::invalid, Again::renewed, check_region},
    {"IllegalLocationConstraintException", Code::invalid, Again::renewed, check_region},
    {"InvalidBucketName", Code::invalid, Again::no, "correct the name of the bucket"},
    {"KeyTooLongError", Code::invalid, Again::no, "a key may have 1,024 bytes"},
    {"EntityTooLarge", Code::invalid, Again::no},
    {"EntityTooSmall", Code::invalid, Again::no},
    {"InvalidObjectState", Code::state, Again::no, "the object is archived: restore it first"},
    {"InvalidPart", Code::conflict, Again::no, "upload it again"},
    {"InvalidPartOrder", Code::conflict, Again::no, "upload it again"},
    {"PreconditionFailed", Code::conflict, Again::no},
    {"ConditionalRequestConflict", Code::conflict, Again::soon},
    {"OperationAborted", Code::conflict, Again::soon},
    {"BadDigest", Code::corrupt, Again::soon},
    {"InvalidDigest", Code::corrupt, Again::soon},
    {"IncompleteBody", Code::corrupt, Again::soon},
    {"XAmzContentSHA256Mismatch", Code::corrupt, Again::soon},
    {"XAmzContentChecksumMismatch", Code::corrupt, Again::soon},
    {"InternalError", Code::unavailable, Again::soon},
    {"RequestTimeout", Code::unavailable, Again::soon},
    {"SlowDown", Code::busy, Again::throttled},
    {"SlowDownRead", Code::busy, Again::throttled},
    {"SlowDownWrite", Code::busy, Again::throttled},
    {"ServiceUnavailable", Code::busy, Again::throttled},
    {"Throttling", Code::busy, Again::throttled},
    {"ThrottlingException", Code::busy, Again::throttled},
    {"RequestLimitExceeded", Code::busy, Again::throttled},
    {"TooManyRequests", Code::busy, Again::throttled},
    {"NotImplemented", Code::unsupported, Again::no},
    {"MethodNotAllowed", Code::unsupported, Again::no},
    {"QuotaExceeded", Code::full, Again::no, "make room in the store"},
    {"XMinioStorageFull", Code::full, Again::no, "make room in the store"},
    {"XMinioAdminBucketQuotaExceeded", Code::full, Again::no, "make room in the bucket"},
    {"XMinioServerNotInitialized", Code::busy, Again::throttled},
};

RefusalClass class_of(const std::string &code, int status) {
  const auto *known = std::ranges::find(classes, code, &RefusalClass::store_code);
  if (known != std::end(classes)) return *known;
  if (code.starts_with("KMS.") || code.starts_with("kms:"))  // the second is MinIO's
    return {"", Code::access, Again::no, "check the key sse_kms_key_id"};
  switch (status) {
    case 200:  // an answer that began before the store failed
      return {"", Code::unavailable, Again::soon};
    case 301:
      return {"", Code::invalid, Again::renewed, check_region};
    case 400:
      return {"", Code::invalid, Again::renewed};
    case 401:
    case 403:
      return {"", Code::access, Again::renewed, give_rights};
    default:
      return class_of_status(status);
  }
}

}  // namespace

std::string s3_error_code(const http::HttpResponse &answer) {
  return xml_text_at(answer.body, "Error", "Code");
}

Refusal s3_refusal(const http::HttpResponse &answer) {
  return s3_refusal(s3_error_code(answer), xml_text_at(answer.body, "Error", "Message"),
                    answer.status);
}

Refusal s3_refusal(const std::string &code, const std::string &message, int status) {
  const RefusalClass found = class_of(code, status);
  // Where a body is missing, as HEAD has none, any reason is possible: new credentials may help. An
  // unknown code that says why is final.
  Again again = found.again;
  if (!code.empty() && found.store_code.empty() && again == Again::renewed) again = Again::no;
  return {found.code, again, refusal_reason(code, message, status), found.remedy};
}

std::string s3_region_in(const http::HttpResponse &answer) {
  const std::string header = answer.header("x-amz-bucket-region");
  return header.empty() ? xml_text_at(answer.body, "Error", "Region") : header;
}

namespace {

constexpr const char *hash_header = "x-amz-content-sha256";

std::string header_of(const http::HttpRequest &request, std::string_view name) {
  for (const http::HttpHeader &header : request.headers)
    if (header.name == name) return header.value;
  return {};
}

}  // namespace

S3Protocol::S3Protocol(const S3Options &options, std::shared_ptr<CredentialChain> credentials,
                       std::shared_ptr<Logger> logger)
    : http_(options.http()),
      endpoint_(options),
      credentials_(std::move(credentials)),
      logger_(std::move(logger)),
      signs_payload_(options.sign_payload.value_or(!endpoint_.is_protected())),
      requester_pays_(options.requester_pays) {}

void S3Protocol::sign(http::HttpRequest &request, RequestScope *) {
  request.url = endpoint_.url(request.url);
  if (requester_pays_) request.headers.push_back({"x-amz-request-payer", "requester"});
  if (!credentials_) return;
  std::string hash = header_of(request, hash_header);
  if (hash.empty()) {
    hash = request.source ? unsigned_payload : to_hex(sha256(request.body));
    request.headers.push_back({hash_header, hash});
  }
  signer_.sign(request, credentials_->get(), endpoint_.region(), clock_.now_s(), hash);
}

Refusal S3Protocol::refusal_of(const http::HttpResponse &answer) {
  Refusal refusal = s3_refusal(answer);
  // Another try only makes sense where something can be other then.
  if (refusal.again == Refusal::Again::renewed && !credentials_ && s3_region_in(answer).empty())
    refusal.again = Refusal::Again::no;
  if (!credentials_ && refusal.code == Code::access)
    refusal.remedy = "this bucket wants credentials: take \"anonymous\" out of checkpoint_storage";
  return refusal;
}

// Where the answer names no region and the clocks agree, it is the credentials.
void S3Protocol::renew(const http::HttpResponse &answer) {
  if (const std::string region = s3_region_in(answer); endpoint_.move_to(region)) {
    logger_->info("the bucket is in ", region,
                  "; say so in checkpoint_storage (region) or AWS_REGION to spare a request");
    return;
  }
  if (!clock_.learn(answer, *logger_) && credentials_) credentials_->drop();
}

bool S3Protocol::is_minio() {
  std::call_once(probed_, [this] { is_minio_ = says_minio(); });
  return is_minio_;
}

bool S3Protocol::says_minio() const {
  if (endpoint_.custom().empty()) return false;
  try {
    http::HttpOptions options = http_;
    options.retry.total = 0;
    http::HttpClient client(options, logger_);
    http::HttpRequest request{.url = endpoint_.custom() + "/"};
    request.keep_headers = true;
    request.connect_timeout = request.timeout = std::chrono::seconds{10};
    return lower_case(client.perform(std::move(request)).header("server")) == "minio";
  } catch (const Error &e) {
    logger_->debug("asking the object store who it is: ", e.what());
    return false;
  }
}

}  // namespace det::cloud
