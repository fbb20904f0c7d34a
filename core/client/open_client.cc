#include <utility>

#include "core/client/embedded_client.h"
#include "core/client/rest_client.h"
#include "core/config/master_location.h"
#include "core/master/rest/connect.h"

namespace det::client {

std::unique_ptr<Client> open_client(const std::string &master, const master::UserAccess &access,
                                    std::shared_ptr<Logger> logger) {
  const config::MasterLocation location = config::locate_master(master);
  if (!logger)
    logger = std::make_shared<Logger>(LogLevel::error, [](LogLevel, const std::string &) {});
  if (location.embedded)
    return std::make_unique<EmbeddedClient>(location.store_directory(), std::move(logger));
  return std::make_unique<RestClient>(master::connect_as_user(location.url, logger, access),
                                      logger);
}

std::unique_ptr<storage::Storage> open_storage(Client &client, const std::string &checkpoint_id) {
  const Json where = client.checkpoint_storage(checkpoint_id);
  if (!where.is_object() && !where.is_string())
    throw Error(Code::unsupported, "opening the storage of checkpoint " + checkpoint_id +
                                       ": the master does not say where it is; open that with "
                                       "det_storage_open(), or name it with --storage");
  return storage::make_recorded_storage(where, std::make_shared<Logger>());
}

}  // namespace det::client
