// The service account of a machine of Google's: a virtual machine, a pod, a job of Cloud Run.
#pragma once

#include "core/cloud/gcs/google_credentials.h"

namespace det::cloud {

// Null where nothing answers as such a server does. GCE_METADATA_HOST says where it is; with
// NO_GCE_CHECK=true it is not asked. Blocks for a few seconds at most.
std::unique_ptr<GoogleCredentials> metadata_server(const TokenContext &context);

}  // namespace det::cloud
