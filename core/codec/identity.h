// Who the master is, and who we are.
#pragma once

#include "core/codec/call.h"

namespace det::codec {

// Needs no token.
struct GetMaster {
  static constexpr Route route{"asking the master for its version", "GET", "/api/v1/master"};

  void fields(Fields &) {}

  struct Response {
    std::string version = {};
    std::string cluster_id = {};
    std::string cluster_name = {};
    std::string master_id = {};
    bool strict_job_queue_control = false;
    bool has_custom_logo = false;

    void fields(Fields &f) {
      f("version", version);
      f("clusterId", cluster_id);
      f.or_default("clusterName", cluster_name);
      f.or_default("masterId", master_id);
      f.or_default("strictJobQueueControl", strict_job_queue_control);
      f.or_default("hasCustomLogo", has_custom_logo);
    }
  };
};

// The same from an older path, which masters and the original's command line still have.
struct GetInfo {
  static constexpr Route route{"asking the master for its version", "GET", "/info"};

  void fields(Fields &) {}

  struct Response {
    std::string version = {};
    std::string cluster_id = {};
    std::string cluster_name = {};
    std::string master_id = {};

    void fields(Fields &f) {
      f("version", version);
      f.or_default("cluster_id", cluster_id);
      f.or_default("cluster_name", cluster_name);
      f.or_default("master_id", master_id);
    }
  };
};

struct User {
  int64_t id = 0;
  std::string username = {};
  bool admin = false;
  bool active = true;

  void fields(Fields &f) {
    f("id", id);
    f("username", username);
    f("admin", admin);
    f("active", active);
  }
};

struct Login {
  static constexpr Route route{"logging in", "POST", "/api/v1/auth/login"};

  std::string username = {};
  std::string password = {};
  bool is_hashed = false;

  void fields(Fields &f) {
    f("username", username);
    f.or_default("password", password);
    f.or_default("isHashed", is_hashed);
  }

  struct Response {
    std::string token = {};
    User user = {};

    void fields(Fields &f) {
      f("token", token);
      f("user", user);
    }
  };
};

// Whether the token is still good.
struct GetMe {
  static constexpr Route route{"checking the token", "GET", "/api/v1/me"};

  void fields(Fields &) {}

  struct Response {
    User user = {};

    void fields(Fields &f) { f("user", user); }
  };
};

struct Logout {
  static constexpr Route route{"logging out", "POST", "/api/v1/auth/logout"};

  void fields(Fields &) {}

  using Response = Nothing;
};

}  // namespace det::codec
