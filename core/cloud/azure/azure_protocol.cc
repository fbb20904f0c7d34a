#include "core/cloud/azure/azure_protocol.h"

#include <algorithm>
#include <cstdlib>

#include "core/cloud/store_refusal.h"
#include "core/cloud/xml.h"
#include "core/http/date.h"

namespace det::cloud {

namespace {

using Again = Refusal::Again;

constexpr const char *retention = "it is kept by an immutability policy or a legal hold";
constexpr const char *another_upload = "upload it again";
constexpr const char *leased = "another program holds a lease on it: have that released or broken";

constexpr RefusalClass classes[] = {
    {"AccountBeingCreated", Code::unavailable, Again::soon},
    {"AccountIsDisabled", Code::access, Again::no, "ask the owner of the account"},
    {"AuthenticationFailed", Code::access, Again::renewed},
    {"AuthorizationFailure", Code::access, Again::renewed},
    {"AuthorizationPermissionMismatch", Code::access, Again::renewed},
    {"AuthorizationProtocolMismatch", Code::access, Again::no,
     "the SAS token is for https only: write https:// in account_url"},
    {"AuthorizationResourceTypeMismatch", Code::access, Again::no,
     "the SAS token must be for containers and objects (srt=co)"},
    {"AuthorizationServiceMismatch", Code::access, Again::no,
     "the SAS token must be for blobs (ss=b)"},
    {"AuthorizationSourceIPMismatch", Code::access, Again::no,
     "the SAS token is not for the address of this machine"},
    {"BlobAlreadyExists", Code::conflict, Again::no},
    {"BlobArchived", Code::state, Again::no, "move it to an online tier first"},
    {"BlobBeingRehydrated", Code::state, Again::no, "wait until it is back in an online tier"},
    {"BlobImmutableDueToPolicy", Code::access, Again::no, retention},
    {"BlobNotFound", Code::not_found, Again::no},
    {"BlobUsesCustomerSpecifiedEncryption", Code::access, Again::no,
     "give the key it is encrypted with in customer_key"},
    {"BlockCountExceedsLimit", Code::invalid, Again::no},
    {"ConditionNotMet", Code::conflict, Again::no},
    {"ContainerBeingDeleted", Code::busy, Again::throttled},
    {"ContainerDisabled", Code::access, Again::no, "ask the owner of the account"},
    {"ContainerNotFound", Code::not_found, Again::no, "make the container, or correct its name"},
    {"Crc64Mismatch", Code::corrupt, Again::soon},
    {"InsufficientAccountPermissions", Code::access, Again::no, "ask the owner of the account"},
    {"InternalError", Code::unavailable, Again::soon},
    {"InvalidAuthenticationInfo", Code::access, Again::renewed},
    {"InvalidBlobOrBlock", Code::conflict, Again::no,
     "an upload of another program to that blob has not ended: finish it, or remove the blob"},
    {"InvalidBlockId", Code::conflict, Again::no, another_upload},
    {"InvalidBlockList", Code::conflict, Again::no, another_upload},
    {"InvalidMd5", Code::corrupt, Again::soon},
    {"InvalidResourceName", Code::invalid, Again::no, "correct the name of the container"},
    {"KeyBasedAuthenticationNotPermitted", Code::access, Again::no,
     "the account takes no keys: leave the credential out and use an identity"},
    {"LeaseIdMissing", Code::busy, Again::no, leased},
    {"LeaseAlreadyPresent", Code::busy, Again::no, leased},
    {"Md5Mismatch", Code::corrupt, Again::soon},
    {"NoAuthenticationInformation", Code::access, Again::renewed},
    {"OperationTimedOut", Code::timeout, Again::soon},
    {"PendingCopyOperation", Code::busy, Again::throttled},
    {"PublicAccessNotPermitted", Code::access, Again::renewed},
    {"RequestBodyTooLarge", Code::invalid, Again::no},
    {"ResourceNotFound", Code::not_found, Again::no},
    {"ServerBusy", Code::busy, Again::throttled},
    {"TargetConditionNotMet", Code::conflict, Again::no},
    {"UnauthorizedBlobOverwrite", Code::access, Again::no,
     "the SAS token only allows to create blobs: it needs the permission to write (w)"},
};

RefusalClass class_of(const std::string &code, int status) {
  const auto *known = std::ranges::find(classes, code, &RefusalClass::store_code);
  if (known != std::end(classes)) return *known;
  if (code.find("Immutab") != code.npos || code.find("LegalHold") != code.npos)
    return {"", Code::access, Again::no, retention};
  if (code.starts_with("KeyVault"))
    return {"", Code::access, Again::no, "check the key of the account in Key Vault"};
  return class_of_status(status);
}

}  // namespace

std::string azure_error_code(const http::HttpResponse &answer) {
  const std::string header = answer.header("x-ms-error-code");
  return header.empty() ? xml_text_at(answer.body, "Error", "Code") : header;
}

Refusal azure_refusal(const http::HttpResponse &answer) {
  return azure_refusal(azure_error_code(answer), xml_text_at(answer.body, "Error", "Message"),
                       answer.status);
}

Refusal azure_refusal(const std::string &code, const std::string &message, int status) {
  RefusalClass found = class_of(code, status);
  if (message.find("contentMD5") != message.npos)  // how Azurite says Md5Mismatch
    found = {"", Code::corrupt, Again::soon};
  return {found.code, found.again, refusal_reason(code, message, status), found.remedy};
}

namespace {

// Of the service; later ones change nothing that is used here. Local servers know it too.
constexpr const char *version = "2021-12-02";

}  // namespace

AzureProtocol::AzureProtocol(std::unique_ptr<AzureCredentials> credentials,
                             std::shared_ptr<Logger> logger)
    : credentials_(std::move(credentials)), logger_(std::move(logger)) {}

void AzureProtocol::sign(http::HttpRequest &request, RequestScope *scope) {
  request.headers.push_back({"x-ms-version", version});
  sign_part(request, scope);
}

void AzureProtocol::sign_part(http::HttpRequest &request, RequestScope *scope) {
  request.headers.push_back({"x-ms-date", http::write_date(clock_.now_s())});
  credentials_->sign(request, scope);
}

Refusal AzureProtocol::refusal_of(const http::HttpResponse &answer) {
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
  if (const auto skew = clock_.skew_in(answer))
    refusal.remedy = "set the clock of this machine, which differs from the store's by " +
                     std::to_string(std::abs(*skew)) + " s";
  else if (refusal.again == Refusal::Again::renewed && !credentials_->can_drop())
    refusal.again = Refusal::Again::no;
  return refusal;
}

void AzureProtocol::renew(const http::HttpResponse &answer) {
  if (!clock_.learn(answer, *logger_)) credentials_->drop();
}

}  // namespace det::cloud
