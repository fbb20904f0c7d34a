#include "core/cloud/gcs/gcs_protocol.h"

#include <algorithm>

#include "core/cloud/gcs/google_answer.h"

namespace det::cloud {

namespace {

using Again = Refusal::Again;

bool contains(const std::string &text, std::string_view part) {
  return text.find(part) != text.npos;
}

std::string said_by(const http::HttpResponse &answer) {
  const GoogleError error = google_error(answer);
  std::string said = "status " + std::to_string(answer.status);
  for (const std::string &text : {error.reason, error.message})
    if (!text.empty()) said += ", " + text;
  return said;
}

// What was sent is not what was declared: damaged on its way, or changed while it was sent.
bool says_other_bytes(const http::HttpResponse &answer) {
  const std::string message = google_error(answer).message;
  return contains(message, "CRC32C") || contains(message, "crc32c");
}

Refusal invalid_refusal(const http::HttpResponse &answer, const std::string &said) {
  if (says_other_bytes(answer)) return {Code::corrupt, Again::soon, said, ""};
  if (google_error(answer).reason == "required" && contains(said, "requester pays"))
    return {Code::access, Again::no, said,
            "the bucket is paid by who asks: say which project pays in user_project"};
  return {Code::invalid, Again::no, said, ""};
}

}  // namespace

GcsProtocol::GcsProtocol(const GcsConfig &config, std::unique_ptr<GoogleCredentials> credentials)
    : bucket_(config.bucket),
      user_project_(config.user_project),
      credentials_(std::move(credentials)) {
  if (credentials_)
    token_ = std::make_unique<AccessTokens>(
        [this](RequestScope *scope) { return credentials_->fetch(scope); });
}

void GcsProtocol::sign(http::HttpRequest &request, RequestScope *scope) {
  if (!token_) return;
  request.headers.push_back({"Authorization", "Bearer " + token_->get(scope)});
  const std::string &project = user_project_.empty() ? credentials_->quota_project : user_project_;
  if (!project.empty()) request.headers.push_back({"X-Goog-User-Project", project});
}

void GcsProtocol::renew(const http::HttpResponse &) {
  if (token_) token_->drop();
}

Refusal GcsProtocol::access_refusal(const http::HttpResponse &answer,
                                    const std::string &said) const {
  const std::string reason = google_error(answer).reason;
  if (contains(reason, "ateLimitExceeded")) return {Code::busy, Again::throttled, said, ""};
  if (contains(reason, "etentionPolicy") || contains(said, "retention policy") ||
      contains(said, " hold"))
    return {Code::access, Again::no, said,
            "the bucket keeps its objects for a time: let that end, or use another bucket"};
  if (!credentials_)
    return {Code::access, Again::no, said,
            "the requests are anonymous: take anonymous out, and set "
            "GOOGLE_APPLICATION_CREDENTIALS"};
  const std::string who = credentials_->name();
  if (answer.status == 401)
    return {Code::access, Again::renewed, said,
            "the tokens of " + who + " are not taken: check that it still exists, and the clock"};
  return {Code::access, Again::no, said,
          "give " + who +
              " the role Storage Object User (roles/storage.objectUser) on the bucket "
              "'" +
              bucket_ + "', or use other credentials"};
}

Refusal GcsProtocol::refusal_of(const http::HttpResponse &answer) {
  const std::string said = said_by(answer);
  switch (answer.status) {
    case 400:
      return invalid_refusal(answer, said);
    case 401:
    case 403:
      return access_refusal(answer, said);
    case 404:
      return missing_bucket(answer, bucket_)
          .value_or(Refusal{Code::not_found, Again::no, said, ""});
    case 408:
      return {Code::timeout, Again::soon, said, ""};
    case 409:
    case 412:
      return {Code::conflict, Again::no, said, ""};
    case 429:
      return {Code::busy, Again::throttled, said, "ask for less at once"};
    case 503:
      return {Code::unavailable, Again::throttled, said, ""};
    default:
      if (answer.status >= 500) return {Code::unavailable, Again::soon, said, ""};
      if (answer.status >= 300 && answer.status < 400)
        return {Code::unsupported, Again::no, said,
                "redirects are not followed: check endpoint_url and STORAGE_EMULATOR_HOST"};
      return {Code::invalid, Again::no, said, ""};
  }
}

std::optional<Refusal> missing_bucket(const http::HttpResponse &answer, const std::string &bucket) {
  if (!contains(google_error(answer).message, "bucket does not exist")) return std::nullopt;
  return Refusal{Code::not_found, Again::no, said_by(answer),
                 "there is no bucket '" + bucket +
                     "': check its name, or make it with `gcloud storage buckets create`"};
}

}  // namespace det::cloud
