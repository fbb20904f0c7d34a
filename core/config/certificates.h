// Certificates of masters that the user trusts, in certs.json of the user's config directory. The
// original's command line has the same file.
#pragma once

#include <string>

namespace det::config {

// PEM; empty: none is stored. `master_url` is canonical. Takes over master.crt, which older
// releases had for the one master they knew. Throws as the token cache does.
std::string stored_certificate(const std::string &master_url);

void store_certificate(const std::string &master_url, const std::string &pem);

}  // namespace det::config
