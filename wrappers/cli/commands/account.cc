// det login, logout, whoami.
#include <cstdlib>
#include <memory>

#include "wrappers/cli/command.h"
#include "wrappers/cli/text/ask.h"
#include "wrappers/cli/text/field_text.h"

namespace det::cli {

namespace {

constexpr const char *login_footer =
    R"(The password is asked for, or read from standard input when that is no terminal, or taken from
DET_PASS together with DET_USER. The token is kept in ~/.config/determined, where programs of yours
that train outside a cluster find it as well.

Examples:
  det login -u bob http://master:8080               log in to a master
  det login -u bob --cert ca.pem https://master     and trust its certificate from now on
  det login -u bob < password-file                  to the master in DET_MASTER)";

constexpr const char *logout_footer =
    R"(Examples:
  det logout                        log out of the master in DET_MASTER
  det logout -m http://master:8080  log out of another)";

constexpr const char *whoami_footer =
    R"(Examples:
  det whoami                        who the commands act as on the master in DET_MASTER)";

struct LoginOptions {
  std::string master, user, cert_file;
  bool json = false;
};

std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

std::string user_of(const LoginOptions &options) {
  if (!options.user.empty()) return options.user;
  if (const std::string user = variable("DET_USER"); !user.empty()) return user;
  if (can_ask()) return ask("User: ", Echo::shown);
  throw Failure(ExitCode::usage, "logging in: no user is given; give -u USER, or set DET_USER");
}

// DET_PASS is that of DET_USER, and of nobody else.
std::string password_of(const std::string &user) {
  const std::string password = variable("DET_PASS");
  const std::string owner = variable("DET_USER");
  if (!password.empty() && (owner.empty() || owner == user)) return password;
  return ask("Password of " + printable(user) + ": ", Echo::hidden);
}

void login(const Session &session, const LoginOptions &options) {
  const std::string &master = options.master.empty() ? session.master : options.master;
  const std::string user = user_of(options);
  const Json answer = log_in(master, user, password_of(user), options.cert_file);
  if (options.json) return print(json_line(answer));
  print("Logged in to " + printable(text_of(field(answer, "master"))) + " as " +
        printable(text_of(field(answer, "username"))) + ".\n");
}

void logout(const Session &session, const std::string &user, bool json) {
  const Json answer = log_out(session.master, user);
  if (json) return print(json_line(answer));
  print(printable(text_of(field(answer, "username"))) + " is logged out of " +
        printable(text_of(field(answer, "master"))) + ".\n");
  if (field(answer, "revoked") == false)
    print("The master was not reached: it takes the token until it expires.\n");
}

void whoami(const Session &session, bool json) {
  const Json answer = who_am_i(session.master);
  if (json) return print(json_line(answer));
  print(printable(text_of(field(answer, "username"))) +
        (field(answer, "admin") == true ? ", an administrator," : "") + " on " +
        printable(text_of(field(answer, "master"))) + "\n");
}

}  // namespace

void add_account_commands(CLI::App &app, Session &session) {
  const auto options = std::make_shared<LoginOptions>();
  CLI::App *command = app.add_subcommand("login", "Log in to a master.");
  command->footer(login_footer);
  command->add_option("MASTER", options->master, "Its address, else -m or DET_MASTER.")
      ->type_name("");
  command->add_option("-u,--user", options->user, "Who to be; else DET_USER, else it is asked for.")
      ->type_name("USER");
  command
      ->add_option("--cert", options->cert_file,
                   "Trust the certificate in this PEM file for this master, from now on.")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "One JSON object.");
  command->callback([options, &session] { login(session, *options); });

  command = app.add_subcommand("logout", "End the login to a master.");
  command->footer(logout_footer);
  command->add_option("-u,--user", options->user, "Who; else the user who is logged in.")
      ->type_name("USER");
  command->add_flag("--json", options->json, "One JSON object.");
  command->callback([options, &session] { logout(session, options->user, options->json); });

  command = app.add_subcommand("whoami", "Show who the commands act as on a master.");
  command->footer(whoami_footer);
  command->add_flag("--json", options->json, "One JSON object.");
  command->callback([options, &session] { whoami(session, options->json); });
}

}  // namespace det::cli
