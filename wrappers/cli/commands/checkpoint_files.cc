// det checkpoints get, put, verify, rm, cp, pin, unpin, du: the files of checkpoints.
#include <det/storage.h>

#include <memory>
#include <string>

#include "core/base/json.h"
#include "wrappers/cli/command.h"
#include "wrappers/cli/library_client.h"
#include "wrappers/cli/text/ask.h"
#include "wrappers/cli/text/field_text.h"
#include "wrappers/cli/text/progress_bar.h"
#include "wrappers/cli/text/table.h"

namespace det::cli {

namespace {

// The C API of det/storage.h with C++ values. A failure is thrown with its exit code.
class LibraryStorage {
 public:
  // A directory, a URI, or a `checkpoint_storage` object in JSON.
  explicit LibraryStorage(const std::string &location);
  explicit LibraryStorage(det_storage *owned) : handle_(owned, det_storage_free) {}

  std::string upload(const std::string &directory, const std::string &metadata,
                     ProgressBar &progress);  // gives the id; metadata may be empty
  void download(const std::string &id, const std::string &directory, ProgressBar &progress);
  Json list(const std::string &id);
  void verify(const std::string &id, ProgressBar &progress);
  void copy(const std::string &id, LibraryStorage &to, ProgressBar &progress);
  void remove(const std::string &id);

 private:
  std::unique_ptr<det_storage, void (*)(det_storage *)> handle_{nullptr, det_storage_free};
};

template <class Options>
Options followed(Options options, ProgressBar &progress) {
  options.progress = ProgressBar::tell;
  options.user_data = &progress;
  return options;
}

LibraryStorage::LibraryStorage(const std::string &location) {
  call_library([&](det_error *error) {
    det_storage *handle = nullptr;
    const det_status status = det_storage_open(location.c_str(), &handle, error);
    handle_.reset(handle);
    return status;
  });
}

std::string LibraryStorage::upload(const std::string &directory, const std::string &metadata,
                                   ProgressBar &progress) {
  const auto options = followed<det_checkpoint_options>(DET_CHECKPOINT_OPTIONS_INIT, progress);
  std::string id;
  call_library([&](det_error *error) {
    char *text = nullptr;
    const det_status status =
        det_storage_upload(handle_.get(), directory.c_str(),
                           metadata.empty() ? nullptr : metadata.c_str(), &options, &text, error);
    const std::unique_ptr<char, void (*)(void *)> owned(text, det_free);
    if (text != nullptr) id = text;
    return status;
  });
  return id;
}

void LibraryStorage::download(const std::string &id, const std::string &directory,
                              ProgressBar &progress) {
  const auto options = followed<det_download_options>(DET_DOWNLOAD_OPTIONS_INIT, progress);
  call_library([&](det_error *error) {
    return det_storage_download(handle_.get(), id.c_str(), directory.c_str(), &options, error);
  });
}

Json LibraryStorage::list(const std::string &id) {
  return ask_library([&](char **out, det_error *error) {
    return det_storage_list(handle_.get(), id.c_str(), out, error);
  });
}

void LibraryStorage::verify(const std::string &id, ProgressBar &progress) {
  const auto options = followed<det_download_options>(DET_DOWNLOAD_OPTIONS_INIT, progress);
  call_library([&](det_error *error) {
    return det_storage_verify(handle_.get(), id.c_str(), &options, error);
  });
}

void LibraryStorage::copy(const std::string &id, LibraryStorage &to, ProgressBar &progress) {
  const auto options = followed<det_download_options>(DET_DOWNLOAD_OPTIONS_INIT, progress);
  call_library([&](det_error *error) {
    return det_storage_copy(handle_.get(), id.c_str(), to.handle_.get(), &options, error);
  });
}

void LibraryStorage::remove(const std::string &id) {
  call_library(
      [&](det_error *error) { return det_storage_delete(handle_.get(), id.c_str(), error); });
}

constexpr const char *storage_text =
    R"(The store or the master knows where a checkpoint is. --storage names another
place: a directory, a URI (s3://bucket/prefix, gs://bucket/prefix,
azure://container/prefix), or a checkpoint_storage object in JSON.

)";

struct FileOptions {
  std::string id, directory, storage, to, metadata;
  std::vector<std::string> ids;
  bool yes = false;
  bool json = false;
};

struct Found {
  std::string id;
  LibraryStorage storage;
};

std::string whole_id(Client &client, const std::string &id) {
  return text_of(field(client.find_checkpoint(id), "uuid"));
}

Found find_stored(const Session &session, const FileOptions &options, const std::string &id) {
  if (!options.storage.empty()) return {id, LibraryStorage(options.storage)};
  Client client = session.connect();
  const std::string uuid = whole_id(client, id);
  return {uuid, LibraryStorage(client.open_storage(uuid))};
}

void tell(const FileOptions &options, const Json &answer, const std::string &text) {
  print(options.json ? json_line(answer) : text + "\n");
}

void get_files(const Session &session, const FileOptions &options) {
  Found found = find_stored(session, options, options.id);
  const std::string directory = options.directory.empty() ? found.id : options.directory;
  {
    ProgressBar progress("fetching");
    found.storage.download(found.id, directory, progress);
  }
  tell(options, {{"uuid", found.id}, {"directory", directory}}, directory);
}

void put_files(const Session &, const FileOptions &options) {
  std::string id;
  {
    ProgressBar progress("storing");
    id = LibraryStorage(options.storage).upload(options.directory, options.metadata, progress);
  }
  tell(options, {{"uuid", id}}, id);
}

void verify_files(const Session &session, const FileOptions &options) {
  for (const std::string &id : options.ids) {
    Found found = find_stored(session, options, id);
    {
      ProgressBar progress("verifying");
      found.storage.verify(found.id, progress);
    }
    const Json listed = found.storage.list(found.id);
    tell(options, {{"uuid", found.id}, {"size", field(listed, "size")}},
         found.id + " is intact, " + bytes_of(field(listed, "size")) + ".");
  }
}

void copy_files(const Session &session, const FileOptions &options) {
  Found found = find_stored(session, options, options.id);
  LibraryStorage to(options.to);
  {
    ProgressBar progress("copying");
    found.storage.copy(found.id, to, progress);
  }
  tell(options, {{"uuid", found.id}}, found.id);
}

void remove_files(const Session &session, const FileOptions &options) {
  if (!options.yes && !can_ask())
    throw Failure(ExitCode::usage,
                  "deleting asks first, and standard input is not a terminal; give -y");
  for (const std::string &id : options.ids) {
    const bool is_known = options.storage.empty();  // to a store or a master
    std::string uuid = id;
    if (is_known) {
      Client client = session.connect();
      uuid = whole_id(client, id);
    }
    if (!options.yes) {
      const std::string answer = ask("Delete checkpoint " + uuid + "? [y/N] ", Echo::shown);
      if (answer != "y" && answer != "Y" && answer != "yes") {
        print("Checkpoint " + uuid + " is kept.\n");
        continue;
      }
    }
    if (is_known) session.connect().delete_checkpoint(uuid);
    else LibraryStorage(options.storage).remove(uuid);
    tell(options, {{"uuid", uuid}}, "Checkpoint " + uuid + " is deleted.");
  }
}

void set_pinned(const Session &session, const FileOptions &options, bool pinned) {
  for (const std::string &id : options.ids) {
    Client client = session.connect();
    const std::string uuid = whole_id(client, id);
    const Json answer = client.pin_checkpoint(uuid, pinned);
    tell(options, {{"uuid", uuid}, {"pinned", field(answer, "pinned")}},
         "Checkpoint " + uuid + (pinned ? " is pinned." : " is not pinned."));
  }
}

void pin(const Session &session, const FileOptions &options) { set_pinned(session, options, true); }

void unpin(const Session &session, const FileOptions &options) {
  set_pinned(session, options, false);
}

void show_usage(const Session &session, const FileOptions &options) {
  const Json answer = session.connect().checkpoint_usage();
  const Json &experiments = field(answer, "experiments");
  if (options.json) {
    for (const Json &one : experiments) print(json_line(one));
    return;
  }
  Table table(
      session.terminal,
      {{"EXP", Align::right}, {"NAME"}, {"CHECKPOINTS", Align::right}, {"SIZE", Align::right}});
  int64_t bytes = 0;
  for (const Json &one : experiments) {
    table.add({text_of(field(one, "experiment_id")), text_of(field(one, "name")),
               text_of(field(one, "checkpoints")), bytes_of(field(one, "size"))});
    bytes += field(one, "size").get<int64_t>();
  }
  table.finish();
  print(experiments.empty() ? "No checkpoints yet.\n" : bytes_of(Json(bytes)) + " in total.\n");
}

using FileAction = void (*)(const Session &, const FileOptions &);

std::pair<CLI::App *, std::shared_ptr<FileOptions>> add_action(CLI::App *group, Session &session,
                                                               const char *name,
                                                               const char *description,
                                                               const std::string &footer,
                                                               FileAction action) {
  const auto options = std::make_shared<FileOptions>();
  CLI::App *command = group->add_subcommand(name, description)->group("Commands");
  command->footer(footer);
  command->add_flag("--json", options->json, "Print one JSON object for each.");
  command->callback([options, action, &session] { action(session, *options); });
  return {command, options};
}

CLI::Option *add_storage(CLI::App *command, FileOptions &options) {
  return command->add_option("--storage", options.storage, "The storage of the checkpoint.")
      ->type_name("STORAGE");
}

void add_checkpoint(CLI::App *command, FileOptions &options) {
  command->add_option("CHECKPOINT", options.id, "The checkpoint ID, or the beginning of it.")
      ->required()
      ->type_name("");
  add_storage(command, options);
}

void add_checkpoints(CLI::App *command, FileOptions &options) {
  command->add_option("CHECKPOINT", options.ids, "The checkpoint IDs, or their beginnings.")
      ->required()
      ->type_name("");
}

}  // namespace

void add_checkpoint_file_commands(CLI::App &app, Session &session) {
  CLI::App *group = app.get_subcommand("checkpoints");

  const auto [get_command, fetched] = add_action(
      group, session, "get", "Download a checkpoint and print its directory.",
      storage_text + std::string("Example:\n  det checkpoints get 8f14e45f model"), get_files);
  add_checkpoint(get_command, *fetched);
  get_command
      ->add_option("DIRECTORY", fetched->directory,
                   "The target. By default it is a new one with the name of the ID.")
      ->type_name("");

  const auto [put_command, stored] = add_action(
      group, session, "put", "Store a directory as a checkpoint and print the ID.",
      storage_text +
          std::string("Example:\n  det checkpoints put model --storage s3://bucket/prefix"),
      put_files);
  put_command->add_option("DIRECTORY", stored->directory, "The directory of the files.")
      ->required()
      ->type_name("");
  add_storage(put_command, *stored)->required();
  put_command->add_option("--metadata", stored->metadata, "A JSON object to store with it.")
      ->type_name("JSON");

  const auto [verify_command, verified] = add_action(
      group, session, "verify", "Compare files with the sizes and checksums stored.",
      storage_text + std::string("Example:\n  det checkpoints verify 8f14e45f"), verify_files);
  add_checkpoints(verify_command, *verified);
  add_storage(verify_command, *verified);

  const auto [copy_command, copied] = add_action(
      group, session, "cp", "Copy a checkpoint to another storage.",
      storage_text + std::string("Example:\n  det checkpoints cp 8f14e45f s3://bucket/prefix"),
      copy_files);
  add_checkpoint(copy_command, *copied);
  copy_command->add_option("TO", copied->to, "The storage to copy to.")->required()->type_name("");

  const auto [remove_command, removed] = add_action(
      group, session, "rm", "Delete checkpoints.",
      storage_text + std::string("Example:\n  det checkpoints rm 8f14e45f"), remove_files);
  add_checkpoints(remove_command, *removed);
  add_storage(remove_command, *removed);
  remove_command->add_flag("-y,--yes", removed->yes, "Delete without asking.");

  const auto [pin_command, kept] =
      add_action(group, session, "pin", "Keep checkpoints: nothing deletes pinned ones.",
                 "Example:\n  det checkpoints pin 8f14e45f", pin);
  add_checkpoints(pin_command, *kept);
  const auto [unpin_command, let_go] =
      add_action(group, session, "unpin", "Allow deletion of pinned checkpoints again.",
                 "Example:\n  det checkpoints unpin 8f14e45f", unpin);
  add_checkpoints(unpin_command, *let_go);

  add_action(group, session, "du", "Show how much storage each experiment uses.",
             "Example:\n  det checkpoints du", show_usage);
}

}  // namespace det::cli
