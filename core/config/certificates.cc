#include "core/config/certificates.h"

#include <algorithm>
#include <system_error>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/config/user_file.h"

namespace det::config {

namespace fs = std::filesystem;

namespace {

UserFile certificates_file() {
  return {"certs.json",
          [](Json &certificates) {
            return std::all_of(certificates.begin(), certificates.end(),
                               [](const Json &pem) { return pem.is_string(); });
          },
          "give the certificate again with `det login --cert FILE`"};
}

std::string take_over_old_file(const UserFile &file, const std::string &master_url) {
  const fs::path old = file.path().parent_path() / "master.crt";
  std::error_code ignored;
  if (file.path().empty() || !fs::exists(old, ignored)) return {};
  std::string pem = read_file(old);
  try {
    file.change([&](Json &certificates) {
      if (certificates.empty()) certificates[master_url] = pem;
    });
    fs::remove(old, ignored);
  } catch (const Error &) {
    // A directory that cannot be written to: the old file stays and goes on serving.
  }
  return pem;
}

}  // namespace

std::string stored_certificate(const std::string &master_url) {
  const UserFile file = certificates_file();
  const std::optional<Json> certificates = file.read();
  return certificates ? certificates->value(master_url, "") : take_over_old_file(file, master_url);
}

void store_certificate(const std::string &master_url, const std::string &pem) {
  certificates_file().change([&](Json &certificates) { certificates[master_url] = pem; });
}

}  // namespace det::config
