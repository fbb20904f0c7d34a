#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/percent.h"
#include "core/cloud/gcs/gcs_objects.h"
#include "core/cloud/gcs/google_answer.h"

namespace det::cloud {

void GcsObjects::copy(const std::string &from, const std::string &to) {
  const std::string tried = "copying '" + name_of(from) + "' to '" + name_of(to) + "'";
  const std::string path = "/storage/v1" + object_path(from) + "/rewriteTo" + object_path(to);
  Query query = kms_key("destinationKmsKeyName");
  query.push_back({"fields", "done,rewriteToken"});
  // Much takes several calls.
  for (std::string token;;) {
    Query next = query;
    if (!token.empty()) next.push_back({"rewriteToken", token});
    bool done = false;
    const Json told = ask(tried,
                          {.method = "POST",
                           .url = url(path, next),
                           .headers = {{"Content-Type", "application/json"}},
                           .body = config_.storage_class.empty()
                                       ? "{}"
                                       : to_wire({{"storageClass", config_.storage_class}})},
                          [&](const Json &answer) {
                            done = answer.value("done", false);
                            if (!done) token = text_member(answer, "rewriteToken");
                          });
    if (done) return;
  }
}

GcsObject GcsObjects::compose(const std::string &key, const std::vector<GcsObject> &sources,
                              const Metadata &metadata) {
  try {
    return compose(key, sources, metadata, true);
  } catch (const Error &error) {
    const bool is_retention = std::string_view(error.what()).find("etention") != std::string::npos;
    if (error.code != Code::access || !is_retention) throw;
    return compose(key, sources, metadata, false);
  }
}

GcsObject GcsObjects::compose(const std::string &key, const std::vector<GcsObject> &sources,
                              const Metadata &metadata, bool removes) {
  const std::string tried = "putting the parts of '" + name_of(key) + "' together";
  Json asked{{"sourceObjects", Json::array()},
             {"destination", properties(metadata)},
             {"deleteSourceObjects", removes}};
  for (const GcsObject &source : sources)
    asked["sourceObjects"].push_back(
        {{"name", source.key}, {"generation", std::to_string(source.generation)}});
  Query query = kms_key("kmsKeyName");
  query.push_back({"fields", GcsObject::fields});
  GcsObject made;
  try {
    ask(tried,
        {.method = "POST",
         .url = url("/storage/v1" + object_path(key) + "/compose", query),
         .headers = {{"Content-Type", "application/json"}},
         .body = to_wire(asked)},
        [&](const Json &answer) { made = GcsObject::from_json(answer); });
  } catch (const Error &error) {
    // The sources are gone where an attempt succeeded whose answer was lost.
    if (error.code != Code::not_found) throw;
    const auto found = find(key);
    if (!found || !found->is_made_of(sources)) throw;
    made = *found;
  }
  if (!made.is_made_of(sources))
    throw Error(Code::corrupt, tried + ": the bucket has made other bytes of them; store it again");
  return made;
}

}  // namespace det::cloud
