// Saves and restores checkpoints. See det/checkpoint.h.
#pragma once

#include <det/checkpoint.h>
#include <det/checkpoint_options.hpp>
#include <det/detail/callbacks.hpp>
#include <det/detail/handle.hpp>
#include <det/error.hpp>
#include <det/json.hpp>
#include <det/ticket.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace det {
inline namespace v1 {

struct CheckpointEntry {
  std::string id;
  int64_t steps_completed;
  Time time;
  int64_t size;  // bytes of all files
};

namespace detail {

struct ReleaseWriter {
  std::unique_ptr<CheckpointCallbacks> callbacks;
  void operator()(det_checkpoint_writer *writer) const noexcept {
    det_checkpoint_writer_free(writer);
  }
};

}  // namespace detail

// A checkpoint to write. At the end of its scope it is dropped, unless commit() was called.
class CheckpointWriter {
 public:
  CheckpointWriter() noexcept = default;
  explicit CheckpointWriter(det_checkpoint_writer *owned) noexcept : writer_(owned) {}

  // The empty directory to write into.
  [[nodiscard]] std::filesystem::path path() const { return text(det_checkpoint_writer_path); }
  // The storage id that the checkpoint will have.
  [[nodiscard]] std::string id() const { return text(det_checkpoint_writer_id); }

  void set_metadata(const Json &metadata, OnFailure on = {}) const {
    detail::call(on, det_checkpoint_writer_set_metadata, writer_.get(), metadata.capi());
  }
  // Makes it durable and visible, and reports it to the master.
  void commit(OnFailure on = {}) const {
    detail::call(on, det_checkpoint_writer_commit, writer_.get());
  }
  // The same in the background.
  [[nodiscard]] Ticket commit_async(OnFailure on = {}) const {
    det_checkpoint_ticket *ticket = nullptr;
    detail::call(on, det_checkpoint_writer_commit_async, writer_.get(), &ticket);
    return Ticket(ticket);
  }
  void abort(OnFailure on = {}) const {
    detail::call(on, det_checkpoint_writer_abort, writer_.get());
  }

  [[nodiscard]] det_checkpoint_writer *capi() const noexcept { return writer_.get(); }
  [[nodiscard]] explicit operator bool() const noexcept { return writer_ != nullptr; }

 private:
  friend class Checkpoint;
  using Handle = std::unique_ptr<det_checkpoint_writer, detail::ReleaseWriter>;

  explicit CheckpointWriter(Handle writer) noexcept : writer_(std::move(writer)) {}
  std::string text(const char *(*get)(const det_checkpoint_writer *) noexcept) const {
    return writer_ != nullptr ? get(writer_.get()) : "";
  }

  Handle writer_;
};

// A checkpoint to read, until the end of its scope.
class CheckpointReader {
 public:
  CheckpointReader() noexcept = default;
  explicit CheckpointReader(det_checkpoint_reader *owned) noexcept : reader_(owned) {}

  [[nodiscard]] std::filesystem::path path() const {
    return reader_ != nullptr ? det_checkpoint_reader_path(reader_.get()) : "";
  }

  [[nodiscard]] det_checkpoint_reader *capi() const noexcept { return reader_.get(); }
  [[nodiscard]] explicit operator bool() const noexcept { return reader_ != nullptr; }

 private:
  detail::Handle<det_checkpoint_reader, det_checkpoint_reader_free> reader_;
};

// A view borrowed from the core.
class Checkpoint {
 public:
  explicit Checkpoint(det_checkpoint_context *checkpoint) noexcept : checkpoint_(checkpoint) {}

  // The metadata is an object with "steps_completed". Without it, set it before the commit.
  [[nodiscard]] CheckpointWriter write(const Json &metadata = {},
                                       const CheckpointOptions &options = {},
                                       OnFailure on = {}) const;
  [[nodiscard]] CheckpointReader read(Text storage_id, const DownloadOptions &options = {},
                                      OnFailure on = {}) const;

  // Stores a directory and returns the id. With `shard` an empty path adds no files.
  std::string upload(const std::filesystem::path &directory, const Json &metadata,
                     const CheckpointOptions &options = {}, OnFailure on = {}) const;
  // Returns once you may change the directory. The save continues in the background.
  [[nodiscard]] Ticket upload_async(const std::filesystem::path &directory, const Json &metadata,
                                    const CheckpointOptions &options = {}, OnFailure on = {}) const;
  void limit_saves(const SaveLimits &limits, OnFailure on = {}) const {
    const det_save_limits c_limits{sizeof c_limits, limits.limit_bytes, limits.in_flight,
                                   limits.refuse_when_full ? 1 : 0};
    detail::call(on, det_checkpoint_limit_saves, checkpoint_, &c_limits);
  }
  // Saves of one rank first wait in a directory of this machine. After they are stored they stay
  // there, as long as the limit allows. An empty path ends that.
  void stage_saves(const std::filesystem::path &directory, int64_t limit_bytes,
                   OnFailure on = {}) const {
    const det_staging_options c_options{sizeof c_options, detail::null_if_empty(directory.native()),
                                        limit_bytes};
    detail::call(on, det_checkpoint_stage_saves, checkpoint_, &c_options);
  }
  void download(Text storage_id, const std::filesystem::path &directory,
                const DownloadOptions &options = {}, OnFailure on = {}) const;

  void delete_checkpoint(Text storage_id, OnFailure on = {}) const {
    detail::call(on, det_checkpoint_delete, checkpoint_, storage_id.c_str());
  }
  [[nodiscard]] Json get_metadata(Text storage_id, OnFailure on = {}) const {
    return detail::answer(on, det_checkpoint_get_metadata, checkpoint_, storage_id.c_str());
  }
  // The checkpoints of this trial that can be restored. The one with the most steps is first.
  [[nodiscard]] std::vector<CheckpointEntry> list(OnFailure on = {}) const;

  [[nodiscard]] det_checkpoint_context *capi() const noexcept { return checkpoint_; }

 private:
  det_checkpoint_context *checkpoint_;
};

inline CheckpointWriter Checkpoint::write(const Json &metadata, const CheckpointOptions &options,
                                          OnFailure on) const {
  auto callbacks = std::make_unique<detail::CheckpointCallbacks>();
  callbacks->progress = options.progress;
  det_checkpoint_options c_options = detail::to_c(options);
  detail::set_callbacks(c_options, *callbacks);
  det_checkpoint_writer *writer = nullptr;
  detail::call(on, det_checkpoint_writer_begin, checkpoint_, metadata.capi(), &c_options, &writer);
  return CheckpointWriter(CheckpointWriter::Handle(writer, {std::move(callbacks)}));
}

inline CheckpointReader Checkpoint::read(Text storage_id, const DownloadOptions &options,
                                         OnFailure on) const {
  detail::CheckpointCallbacks callbacks{options.selector, options.progress};
  det_download_options c_options = detail::to_c(options);
  detail::set_callbacks(c_options, callbacks);
  det_checkpoint_reader *reader = nullptr;
  detail::call(on, det_checkpoint_reader_open, checkpoint_, storage_id.c_str(), &c_options,
               &reader);
  return CheckpointReader(reader);
}

inline std::string Checkpoint::upload(const std::filesystem::path &directory, const Json &metadata,
                                      const CheckpointOptions &options, OnFailure on) const {
  detail::CheckpointCallbacks callbacks{options.selector, options.progress};
  det_checkpoint_options c_options = detail::to_c(options);
  detail::set_callbacks(c_options, callbacks);
  char *id = nullptr;
  detail::call(on, det_checkpoint_upload, checkpoint_, detail::null_if_empty(directory.native()),
               metadata.capi(), &c_options, &id);
  return detail::taken(id);
}

inline Ticket Checkpoint::upload_async(const std::filesystem::path &directory, const Json &metadata,
                                       const CheckpointOptions &options, OnFailure on) const {
  detail::CheckpointCallbacks callbacks{options.selector, options.progress};
  det_checkpoint_options c_options = detail::to_c(options);
  detail::set_callbacks(c_options, callbacks);
  det_checkpoint_ticket *ticket = nullptr;
  detail::call(on, det_checkpoint_upload_async, checkpoint_,
               detail::null_if_empty(directory.native()), metadata.capi(), &c_options, &ticket);
  return Ticket(ticket);
}

inline void Checkpoint::download(Text storage_id, const std::filesystem::path &directory,
                                 const DownloadOptions &options, OnFailure on) const {
  detail::CheckpointCallbacks callbacks{options.selector, options.progress};
  det_download_options c_options = detail::to_c(options);
  detail::set_callbacks(c_options, callbacks);
  detail::call(on, det_checkpoint_download, checkpoint_, storage_id.c_str(), directory.c_str(),
               &c_options);
}

inline std::vector<CheckpointEntry> Checkpoint::list(OnFailure on) const {
  det_checkpoint_entries *entries = nullptr;
  detail::call(on, det_checkpoint_list, checkpoint_, &entries);
  const detail::Handle<det_checkpoint_entries, det_checkpoint_entries_free> owned(entries);
  std::vector<CheckpointEntry> list;
  for (size_t i = 0; i < det_checkpoint_entries_count(entries); ++i) {
    const std::chrono::microseconds time(det_checkpoint_entries_time_us(entries, i));
    list.push_back({det_checkpoint_entries_id(entries, i),
                    det_checkpoint_entries_steps_completed(entries, i), Time(time),
                    det_checkpoint_entries_size(entries, i)});
  }
  return list;
}

}  // namespace v1
}  // namespace det
