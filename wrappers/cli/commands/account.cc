// det login, logout, whoami.
#include <cstdlib>
#include <memory>

#include "wrappers/cli/command.h"
#include "wrappers/cli/text/ask.h"
#include "wrappers/cli/text/field_text.h"

namespace det::cli {

namespace {

constexpr const char *login_footer =
    R"(Asks for the password. If standard input is not a terminal, its first line is
the password. DET_USER and DET_PASS together replace both. The token is kept in
~/.config/determined, where your training programs outside a cluster find it.

Examples:
  det login -u bob --cert ca.pem https://master:8443
  det login -u bob < password-file)";

constexpr const char *logout_footer =
    R"(Example:
  det logout -m http://master:8080)";

constexpr const char *whoami_footer =
    R"(Example:
  det whoami)";

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
    print("The master could not be reached. It accepts the token until the token expires.\n");
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
  command->add_option("MASTER", options->master, "The address. By default it is -m or DET_MASTER.")
      ->type_name("");
  command
      ->add_option("-u,--user", options->user, "The user. By default it is DET_USER, or det asks.")
      ->type_name("USER");
  command
      ->add_option("--cert", options->cert_file,
                   "Trust the certificate in this PEM file for this master from now on.")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "Print one JSON object.");
  command->callback([options, &session] { login(session, *options); });

  command = app.add_subcommand("logout", "Log out of a master.");
  command->footer(logout_footer);
  command
      ->add_option("-u,--user", options->user,
                   "The user. By default it is the one who is logged in.")
      ->type_name("USER");
  command->add_flag("--json", options->json, "Print one JSON object.");
  command->callback([options, &session] { logout(session, options->user, options->json); });

  command = app.add_subcommand("whoami", "Show the user that commands act as on a master.");
  command->footer(whoami_footer);
  command->add_flag("--json", options->json, "Print one JSON object.");
  command->callback([options, &session] { whoami(session, options->json); });
}

}  // namespace det::cli
