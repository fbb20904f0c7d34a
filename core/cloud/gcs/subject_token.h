// What an identity provider says of this job, for Google's Security Token Service.
#pragma once

#include <functional>
#include <string>

#include "core/base/json_fwd.h"
#include "core/cloud/gcs/token_service.h"

namespace det::cloud {

// Gives the token as it is now. Blocks; throws Code::access where there is none.
using SubjectTokenSource = std::function<std::string()>;

// From the credential_source of an external account: a file, a URL, or a program, which runs only
// where GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1. `service` must outlive it.
SubjectTokenSource subject_token_source(const Json &account, const std::string &file,
                                        TokenService &service);

}  // namespace det::cloud
