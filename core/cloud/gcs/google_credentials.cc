#include "core/cloud/gcs/google_credentials.h"

#include "core/base/environment.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/cloud/gcs/credentials_file.h"
#include "core/cloud/gcs/external_account.h"
#include "core/cloud/gcs/impersonated_account.h"
#include "core/cloud/gcs/metadata_server.h"
#include "core/cloud/gcs/oauth_token.h"
#include "core/cloud/gcs/service_account.h"

namespace det::cloud {

namespace {

std::unique_ptr<GoogleCredentials> credentials_of(const std::string &file,
                                                  const TokenContext &context) {
  Json content;
  try {
    content = parse_json_object(read_file(file), "it");
  } catch (const Error &error) {
    // What does not parse may be quoted in the reason, and is a secret.
    if (error.code != Code::invalid) throw Error(Code::access, error.what(), error.os_errno);
    refuse_credentials(file, "they are no JSON object");
  }
  return google_credentials(content, file, context);
}

std::filesystem::path gcloud_file() {
  const std::string folder = environment_variable("CLOUDSDK_CONFIG");
  return (folder.empty() ? home_directory() / ".config/gcloud" : std::filesystem::path(folder)) /
         "application_default_credentials.json";
}

}  // namespace

std::unique_ptr<GoogleCredentials> google_credentials(const Json &file_content,
                                                      const std::string &file,
                                                      const TokenContext &context) {
  const std::string type = optional_text(file_content, "type");
  const auto make = type == "service_account"                    ? service_account
                    : type == "authorized_user"                  ? refreshed_user
                    : type == "external_account_authorized_user" ? refreshed_user
                    : type == "external_account"                 ? external_account
                    : type == "impersonated_service_account"     ? impersonated_account
                                                                 : nullptr;
  if (make == nullptr) refuse_credentials(file, "type '" + type + "' is not known here");
  auto credentials = make(file_content, file, context);
  if (std::string project = optional_text(file_content, "quota_project_id"); !project.empty())
    credentials->quota_project = std::move(project);
  return credentials;
}

std::unique_ptr<GoogleCredentials> application_default_credentials(const TokenContext &context) {
  std::unique_ptr<GoogleCredentials> credentials;
  std::error_code ignored;
  if (const std::string file = environment_variable("GOOGLE_APPLICATION_CREDENTIALS");
      !file.empty())
    credentials = credentials_of(file, context);
  else if (std::filesystem::exists(gcloud_file(), ignored))
    credentials = credentials_of(gcloud_file(), context);
  else credentials = metadata_server(context);
  if (!credentials)
    throw Error(Code::access,
                "looking for credentials for Google Cloud Storage: there are none; set "
                "GOOGLE_APPLICATION_CREDENTIALS to the file of a service account or of a workload "
                "identity, or run `gcloud auth application-default login`, or give this machine a "
                "service account; a public bucket needs none: set anonymous to true");
  if (std::string project = environment_variable("GOOGLE_CLOUD_QUOTA_PROJECT"); !project.empty())
    credentials->quota_project = std::move(project);
  return credentials;
}

}  // namespace det::cloud
