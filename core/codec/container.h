// What a container of the cluster does before the training code runs.
#pragma once

#include "core/base/json.h"
#include "core/codec/call.h"

namespace det::codec {

// The directory that the experiment was submitted with: a tar.gz in base64; empty for none.
struct Archive {
  std::string base64 = {};

  void fields(Fields &f) { f("b64Tgz", base64); }
};

struct GetContextDirectory {
  static constexpr Route route{"fetching the model's directory", "GET",
                               "/api/v1/tasks/{task}/context_directory", WireVersion::v0_33};

  std::string task_id = {};

  void fields(Fields &f) { f.in_path("task", task_id); }

  using Response = Archive;
};

// The same before 0.33.
struct GetModelDefinition {
  static constexpr Route route{"fetching the model's directory", "GET",
                               "/api/v1/experiments/{experiment}/model_def"};

  int64_t experiment_id = 0;

  void fields(Fields &f) { f.in_path("experiment", experiment_id); }

  using Response = Archive;
};

// Blocks until all containers of the allocation ask.
struct GetRendezvous {
  static constexpr Route route{"meeting the other containers", "GET",
                               "/api/v1/allocations/{allocation}/resources/{resources}/rendezvous"};

  std::string allocation_id = {};
  std::string resources_id = {};

  void fields(Fields &f) {
    f.in_path("allocation", allocation_id);
    f.in_path("resources", resources_id);
  }

  struct Response {
    std::vector<std::string> addresses = {};  // the first is that of rank 0
    int64_t rank = 0;
    std::vector<int64_t> slots = {};  // by address; not before 0.33

    void fields(Fields &f) {
      f.nested("rendezvousInfo", [&](Fields &info) {
        info("addresses", addresses);
        info("rank", rank);
        info.unless_empty("slots", slots);
      });
    }
  };
};

// Blocks until `peer_count` different requests wait; answers all with the data of all, in any
// order.
struct AllGather {
  static constexpr Route route{"gathering from the other containers", "POST",
                               "/api/v1/allocations/{allocation}/all_gather"};

  std::string allocation_id = {};
  std::string request_uuid = {};
  int64_t peer_count = 1;
  Json data = Json::object();

  void fields(Fields &f) {
    f.in_path("allocation", allocation_id);
    f.repeat("allocationId", allocation_id);
    f("requestUuid", request_uuid);
    f.or_default("numPeers", peer_count);
    f.object("data", data);
  }

  struct Response {
    std::vector<Json> data = {};

    void fields(Fields &f) { f("data", data); }
  };
};

struct ReportAccelerators {
  static constexpr Route route{"reporting the accelerators", "POST",
                               "/api/v1/allocations/{allocation}/acceleratorData",
                               WireVersion::v0_33};

  std::string allocation_id = {};
  std::string container_id = {};
  std::string node_name = {};
  std::string task_id = {};
  std::string type = {};  // "cuda", "rocm" or "cpu"
  std::vector<std::string> uuids = {};

  void fields(Fields &f) {
    f.in_path("allocation", allocation_id);
    f.repeat("allocationId", allocation_id);
    f.nested("acceleratorData", [&](Fields &data) {
      data.repeat("allocationId", allocation_id);
      data.or_default("containerId", container_id);
      data.or_default("nodeName", node_name);
      data.or_default("taskId", task_id);
      data.or_default("acceleratorType", type);
      data.or_default("acceleratorUuids", uuids);
    });
  }

  using Response = Nothing;
};

struct ReportProxyAddress {
  static constexpr Route route{"reporting the proxy's address", "POST",
                               "/api/v1/allocations/{allocation}/proxy_address"};

  std::string allocation_id = {};
  std::string address = {};

  void fields(Fields &f) {
    f.in_path("allocation", allocation_id);
    f.repeat("allocationId", allocation_id);
    f("proxyAddress", address);
  }

  using Response = Nothing;
};

// This container may be stopped once all others are done.
struct MarkAsDaemon {
  static constexpr Route route{"marking the container as a daemon", "POST",
                               "/api/v1/allocations/{allocation}/resources/{resources}/daemon"};

  std::string allocation_id = {};
  std::string resources_id = {};

  void fields(Fields &f) {
    f.in_path("allocation", allocation_id);
    f.in_path("resources", resources_id);
  }

  using Response = Nothing;
};

}  // namespace det::codec
