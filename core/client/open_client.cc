#include "core/base/environment.h"
#include "core/client/embedded_client.h"
#include "core/client/rest_client.h"
#include "core/config/location.h"

namespace det {

namespace {

// Somebody waits at a terminal: a master that does not answer is told of soon.
std::shared_ptr<MasterSession> connect(const std::string &url) {
  auto quiet = std::make_shared<Logger>(LogLevel::error, [](LogLevel, const std::string &) {});
  SessionOptions options{.url = url};
  options.http.retry.total = 3;
  options.http.retry.backoff = std::chrono::milliseconds(250);
  if (const std::string token = environment_variable("DET_USER_TOKEN"); !token.empty())
    options.credential = {Credential::Kind::user, token};
  return std::make_shared<MasterSession>(std::move(options), std::move(quiet));
}

}  // namespace

std::unique_ptr<Client> open_client(const std::string &master) {
  const MasterLocation location = locate_master(master);
  if (location.embedded) return std::make_unique<EmbeddedClient>(location.store_directory());
  return std::make_unique<RestClient>(connect(location.url));
}

}  // namespace det
