#include "core/cloud/azure/connection_string.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "core/base/error.h"
#include "core/base/lower_case.h"

namespace det::cloud {

namespace {

// Of the emulator on this machine: every installation has them, they protect nothing.
constexpr const char *emulator_account = "devstoreaccount1";
constexpr const char *emulator_key =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

[[noreturn]] void refuse_connection(const std::string &why) {
  throw Error(Code::invalid, "reading connection_string of checkpoint_storage: " + why +
                                 "; copy it from the account's access keys");
}

std::map<std::string, std::string> settings_of(std::string_view rest) {
  std::map<std::string, std::string> settings;
  while (!rest.empty()) {
    const std::string_view setting = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(setting.size() + 1, rest.size()));
    const size_t equals = setting.find('=');
    if (setting.find_first_not_of(" \t\r\n") == setting.npos) continue;
    if (equals == setting.npos || equals == 0) refuse_connection("it is no list of NAME=VALUE;");
    settings[lower_case(std::string(setting.substr(0, equals)))] = setting.substr(equals + 1);
  }
  return settings;
}

}  // namespace

ConnectionString parse_connection_string(const std::string &text) {
  auto settings = settings_of(text);
  ConnectionString read{settings["blobendpoint"], settings["accountname"], settings["accountkey"],
                        settings["sharedaccesssignature"]};
  if (lower_case(settings["usedevelopmentstorage"]) == "true") {
    std::string host = settings["developmentstorageproxyuri"];
    while (host.ends_with('/')) host.pop_back();
    if (host.empty()) host = "http://127.0.0.1";
    return {host + ":10000/" + emulator_account, emulator_account, emulator_key, ""};
  }
  if (read.endpoint.empty()) {
    if (read.account.empty()) refuse_connection("it has neither AccountName nor BlobEndpoint");
    std::string protocol = lower_case(settings["defaultendpointsprotocol"]);
    std::string suffix = settings["endpointsuffix"];
    if (protocol.empty()) protocol = "https";
    if (suffix.empty()) suffix = "core.windows.net";
    if (protocol != "https" && protocol != "http")
      refuse_connection("its DefaultEndpointsProtocol is neither https nor http");
    read.endpoint = protocol + "://" + read.account + ".blob." + suffix;
  }
  if (!read.account_key.empty() && read.account.empty())
    refuse_connection("it has an AccountKey but no AccountName");
  return read;
}

}  // namespace det::cloud
