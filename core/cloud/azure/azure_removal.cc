// Blobs are removed many at a time.
#include <optional>

#include "core/base/uuid.h"
#include "core/cloud/azure/azure_batch.h"
#include "core/cloud/azure/azure_container.h"
#include "core/cloud/azure/azure_refusal.h"

namespace det::cloud {

http::HttpRequest AzureContainer::removal_of(const std::string &key) const {
  return {
      .method = "DELETE", .url = url_of(key), .headers = {{"x-ms-delete-snapshots", "include"}}};
}

// Nothing where the blob is gone.
std::optional<Refusal> AzureContainer::refusal_of_removal(const http::HttpAnswer &answer,
                                                          const std::string &key) const {
  if (answer.status == 202) return std::nullopt;
  if (answer.status == 404 && azure_error_code(answer) != "ContainerNotFound") return std::nullopt;
  Refusal refusal = dialect_->refusal_of(answer);
  refusal.reason = "'" + name_of(key) + "': " + refusal.reason;
  return refusal;
}

void AzureContainer::remove_one(const std::string &key) {
  Call call{.tried = "removing a blob", .request = removal_of(key), .expected = {202, 404}};
  call.check = [&](const http::HttpAnswer &answer) { return refusal_of_removal(answer, key); };
  requests_.perform(std::move(call));
}

void AzureContainer::remove(std::vector<std::string> keys) {
  if (keys.empty()) return;
  if (keys.size() == 1) return remove_one(keys.front());
  const std::string boundary = "batch_" + make_uuid();
  const auto fill = [&](http::HttpRequest &request) {
    std::vector<http::HttpRequest> parts;
    for (const std::string &key : keys) dialect_->sign_part(parts.emplace_back(removal_of(key)));
    request.body = batch_body(boundary, parts);
  };
  Call call{.tried = "removing from 'azure://" + config_.address.container + "'",
            .request = {.method = "POST",
                        .url = url("restype=container&comp=batch"),
                        .headers = {{"Content-Type", "multipart/mixed; boundary=" + boundary}}},
            .expected = {202},
            .before_retry = fill};
  // Those that could not be removed are tried again, and no others.
  call.check = [&](const http::HttpAnswer &answer) -> std::optional<Refusal> {
    const std::vector<http::HttpAnswer> answers = batch_answers(answer, keys.size());
    std::vector<std::string> left;
    std::optional<Refusal> first;
    for (size_t i = 0; i < keys.size(); ++i)
      if (auto refusal = refusal_of_removal(answers[i], keys[i])) {
        left.push_back(keys[i]);
        if (!first) first = std::move(refusal);
      }
    keys = std::move(left);
    return first;
  };
  fill(call.request);
  requests_.perform(std::move(call));
}

}  // namespace det::cloud
