#include "wrappers/nn/files/hdf5_file.h"

#include <fcntl.h>
#include <hdf5.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <utility>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/tensors/tensor.h"

namespace det::nn {

namespace {

// A layer has fewer axes, and a model fewer layers.
constexpr int most_axes = 16;
constexpr int deepest_group = 64;
constexpr hsize_t most_texts = 1 << 20;
constexpr size_t longest_text = size_t{1} << 30;
// A file is read within 20 s and 1 s for each 10 MiB, or never.
constexpr size_t usual_seconds = 20, bytes_of_second = 10 << 20;
// What libhdf5 holds in memory at once of an array that is kept in pieces.
constexpr hsize_t largest_piece = hsize_t{1} << 28;

// Something that libhdf5 opened.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Handle(const Handle &) = delete;
  Handle &operator=(const Handle &) = delete;
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  hid_t get() const { return id_; }
  explicit operator bool() const { return id_ >= 0; }

 private:
  const hid_t id_;
  herr_t (*const close_)(hid_t);
};

// What failed first, in the words of libhdf5.
herr_t keep_description(unsigned, const H5E_error2_t *error, void *description) {
  auto &kept = *static_cast<std::string *>(description);
  if (kept.empty() && error->desc != nullptr) kept = error->desc;
  return 0;
}

// As many bytes as the elements take, without what fills the last one up.
std::string trimmed(const char *bytes, size_t size) { return {bytes, strnlen(bytes, size)}; }

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const size_t end = std::min(path.find('/'), path.size());
    if (end > 0) parts.push_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return parts;
}

// Whose crash is nobody's business: no core, no handlers of the program, no lines on its terminal.
void be_apart(size_t most_seconds) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  for (const int number : {SIGABRT, SIGALRM, SIGBUS, SIGFPE, SIGILL, SIGSEGV})
    std::signal(number, SIG_DFL);
  for (const int number : {SIGINT, SIGTERM}) std::signal(number, SIG_IGN);  // of the program alone
  sigset_t alarm_only;
  sigemptyset(&alarm_only);
  sigaddset(&alarm_only, SIGALRM);
  sigprocmask(SIG_UNBLOCK, &alarm_only, nullptr);
  alarm(static_cast<unsigned>(std::min<size_t>(most_seconds, UINT_MAX)));
  if (const Fd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC)); nowhere) {
    dup2(nowhere.get(), STDOUT_FILENO);
    dup2(nowhere.get(), STDERR_FILENO);
  }
}

// The code of what was thrown or 0, and behind it the message or what was read.
std::string answer_of(const std::function<std::string()> &read) {
  try {
    return '\0' + read();
  } catch (const std::exception &failure) {
    const Error error = as_error(failure);
    return static_cast<char>(error.code) + std::string(error.what());
  }
}

}  // namespace

std::string read_apart(const std::string &name, size_t most,
                       const std::function<std::string()> &read) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) OsFailure{errno}.raise("reading '" + name + "'");
  const Fd from(ends[0]);
  Fd to(ends[1]);
  const pid_t reader = fork();
  if (reader < 0) OsFailure{errno}.raise("starting a process that reads '" + name + "'");
  if (reader == 0) {
    be_apart(usual_seconds + most / bytes_of_second);
    try {
      write_all(to.get(), answer_of(read), name);
    } catch (...) {
    }
    _exit(0);
  }
  to = {};
  std::string answer;
  std::vector<char> part(1 << 16);
  ssize_t count = 0;
  while (answer.size() <= most) {
    count = ::read(from.get(), part.data(), part.size());
    if (count > 0) answer.append(part.data(), static_cast<size_t>(count));
    if (count == 0 || (count < 0 && errno != EINTR)) break;
  }
  if (count != 0) kill(reader, SIGKILL);
  int status = 0;
  while (waitpid(reader, &status, 0) < 0 && errno == EINTR) {
  }
  if (count != 0 || answer.empty() || (WIFSIGNALED(status) && WTERMSIG(status) != 0))
    throw Error(Code::corrupt, "reading '" + name + "': it is a damaged HDF5 file");
  std::string rest = answer.substr(1);
  if (answer[0] != 0) throw Error(code_from(static_cast<signed char>(answer[0])), rest);
  return rest;
}

Hdf5File::Hdf5File(const std::filesystem::path &path) : name_(path.string()) {
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_file_locking(access.get(), false, true);  // it is only read
  open(name_, access.get());
}

Hdf5File::Hdf5File(std::string_view bytes, const std::string &name) : name_(name) {
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fapl_core(access.get(), 1 << 20, false);
  // It makes a copy.
  H5Pset_file_image(access.get(), const_cast<char *>(bytes.data()), bytes.size());
  open("bytes", access.get());
}

void Hdf5File::open(const std::string &path, int64_t access) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // it prints what it fails at
  file_ = H5Fopen(path.c_str(), H5F_ACC_RDONLY, access);
  if (file_ < 0) fail("opening it");
}

Hdf5File::~Hdf5File() {
  if (file_ >= 0) H5Fclose(file_);
}

void Hdf5File::refuse(const std::string &problem) const {
  throw Error(Code::unsupported, "reading '" + name_ + "': " + problem);
}

void Hdf5File::fail(const std::string &tried) const {
  std::string description;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_description, &description);
  throw Error(Code::corrupt, "reading '" + name_ + "': " + tried +
                                 " failed; it is no HDF5 file, or is damaged" +
                                 (description.empty() ? "" : ": " + description));
}

// Step by step, so that no link leads out of the file. -1 where there is nothing.
int64_t Hdf5File::object(const std::string &path) const {
  hid_t at = H5Gopen2(file_, "/", H5P_DEFAULT);
  if (at < 0) fail("opening its root");
  for (const std::string_view part : parts_of(path)) {
    const Handle group(at, H5Oclose);
    const std::string step(part);
    if (H5Iget_type(at) != H5I_GROUP || H5Lexists(at, step.c_str(), H5P_DEFAULT) <= 0) return -1;
    H5L_info_t link;
    if (H5Lget_info(at, step.c_str(), &link, H5P_DEFAULT) < 0)
      fail("looking at " + tensors::quoted_name(path));
    if (link.type != H5L_TYPE_HARD)
      refuse("in " + tensors::quoted_name(path) + " is a link to another place, such as a file; " +
             "only data in the file itself is read");
    at = H5Oopen(group.get(), step.c_str(), H5P_DEFAULT);
    if (at < 0) fail("opening " + tensors::quoted_name(path));
  }
  return at;
}

bool Hdf5File::has(const std::string &path) const {
  return static_cast<bool>(Handle(object(path), H5Oclose));
}

std::vector<std::string> Hdf5File::arrays(const std::string &group) const {
  std::vector<std::string> found;
  gather_arrays(group, 0, found);
  return found;
}

// A group may have itself in it.
void Hdf5File::gather_arrays(const std::string &path, int depth,
                             std::vector<std::string> &found) const {
  const Handle opened(object(path), H5Oclose);
  if (depth > deepest_group || found.size() > most_texts) fail("looking through its groups");
  if (H5Iget_type(opened.get()) == H5I_DATASET) found.push_back(path);
  if (H5Iget_type(opened.get()) != H5I_GROUP) return;
  H5G_info_t group;
  if (H5Gget_info(opened.get(), &group) < 0) fail("looking at " + tensors::quoted_name(path));
  for (hsize_t i = 0; i < group.nlinks; ++i) {
    std::array<char, 256> name{};
    if (H5Lget_name_by_idx(opened.get(), ".", H5_INDEX_NAME, H5_ITER_INC, i, name.data(),
                           name.size(), H5P_DEFAULT) < 0)
      fail("looking at " + tensors::quoted_name(path));
    gather_arrays(path + "/" + name.data(), depth + 1, found);
  }
}

std::optional<std::vector<std::string>> Hdf5File::all_texts(const std::string &group,
                                                            const char *attribute) const {
  const std::string tried =
      "reading the attribute '" + std::string(attribute) + "' of " + tensors::quoted_name(group);
  const Handle opened(object(group), H5Oclose);
  if (!opened || H5Aexists(opened.get(), attribute) <= 0) return {};
  const Handle found(H5Aopen(opened.get(), attribute, H5P_DEFAULT), H5Aclose);
  const Handle type(H5Aget_type(found.get()), H5Tclose);
  const Handle space(H5Aget_space(found.get()), H5Sclose);
  if (!found || !type || !space) fail(tried);
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  if (count < 0 || count > static_cast<hssize_t>(most_texts)) fail(tried);
  std::vector<std::string> texts;
  if (count == 0) return texts;  // of floats, as Keras writes it
  if (H5Tget_class(type.get()) != H5T_STRING) fail(tried);
  if (H5Tis_variable_str(type.get()) > 0) {
    std::vector<char *> read(static_cast<size_t>(count), nullptr);
    const Handle memory(H5Tcopy(type.get()), H5Tclose);
    if (H5Aread(found.get(), memory.get(), read.data()) < 0) fail(tried);
    for (const char *one : read) texts.emplace_back(one != nullptr ? one : "");
    H5Dvlen_reclaim(memory.get(), space.get(), H5P_DEFAULT, read.data());
    return texts;
  }
  const size_t size = H5Tget_size(type.get());
  if (size == 0 || size > longest_text / static_cast<size_t>(count)) fail(tried);
  std::vector<char> read(size * static_cast<size_t>(count));
  if (H5Aread(found.get(), type.get(), read.data()) < 0) fail(tried);
  for (size_t i = 0; i < static_cast<size_t>(count); ++i)
    texts.push_back(trimmed(read.data() + i * size, size));
  return texts;
}

std::optional<std::string> Hdf5File::text(const std::string &group, const char *attribute) const {
  auto texts = all_texts(group, attribute);
  if (!texts || texts->size() != 1) return {};
  return std::move(texts->front());
}

std::vector<std::string> Hdf5File::texts(const std::string &group,
                                         const std::string &attribute) const {
  if (auto whole = all_texts(group, attribute.c_str())) return *whole;
  std::vector<std::string> texts;
  for (size_t part = 0; texts.size() < most_texts; ++part) {
    const auto more = all_texts(group, (attribute + std::to_string(part)).c_str());
    if (!more) break;
    texts.insert(texts.end(), more->begin(), more->end());
  }
  return texts;
}

Shape Hdf5File::shape(const std::string &array) const {
  const std::string tried = "looking at the array " + tensors::quoted_name(array);
  const Handle found(object(array), H5Oclose);
  if (!found || H5Iget_type(found.get()) != H5I_DATASET) fail(tried);
  const Handle space(H5Dget_space(found.get()), H5Sclose);
  const int axes = H5Sget_simple_extent_ndims(space.get());
  if (axes < 0 || axes > most_axes) fail(tried);
  std::vector<hsize_t> sizes(static_cast<size_t>(axes));
  if (H5Sget_simple_extent_dims(space.get(), sizes.data(), nullptr) < 0) fail(tried);
  Shape shape;
  for (const hsize_t size : sizes) {
    if (size > INT64_MAX) fail(tried);
    shape.push_back(static_cast<int64_t>(size));
  }
  return shape;
}

void Hdf5File::read(const std::string &array, std::span<float> values) const {
  const std::string tried = "reading the array " + tensors::quoted_name(array);
  const Handle found(object(array), H5Oclose);
  if (!found || H5Iget_type(found.get()) != H5I_DATASET) fail(tried);
  const Handle space(H5Dget_space(found.get()), H5Sclose);
  const Handle type(H5Dget_type(found.get()), H5Tclose);
  const Handle made(H5Dget_create_plist(found.get()), H5Pclose);
  if (!space || !type || !made) fail(tried);
  if (H5Sget_simple_extent_npoints(space.get()) != static_cast<hssize_t>(values.size()))
    fail(tried);
  const H5T_class_t kind = H5Tget_class(type.get());
  if (kind != H5T_FLOAT && kind != H5T_INTEGER)
    refuse("the array " + tensors::quoted_name(array) + " is not of numbers");
  const H5D_layout_t layout = H5Pget_layout(made.get());
  const bool is_elsewhere = H5Pget_external_count(made.get()) != 0;
  if (is_elsewhere || (layout != H5D_COMPACT && layout != H5D_CONTIGUOUS && layout != H5D_CHUNKED))
    refuse("the bytes of the array " + tensors::quoted_name(array) + " are in another file; " +
           "only data in the file itself is read");
  for (int i = 0; i < H5Pget_nfilters(made.get()); ++i) {
    unsigned flags = 0, settings = 0;
    size_t count = 0;
    const H5Z_filter_t filter = H5Pget_filter2(made.get(), static_cast<unsigned>(i), &flags, &count,
                                               nullptr, 0, nullptr, &settings);
    if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE &&
        filter != H5Z_FILTER_FLETCHER32)
      refuse("the array " + tensors::quoted_name(array) + " needs the filter " +
             std::to_string(filter) + "; gzip, shuffle and Fletcher's checksum are read");
  }
  if (layout == H5D_CHUNKED) {
    std::vector<hsize_t> sizes(most_axes);
    const int axes = H5Pget_chunk(made.get(), most_axes, sizes.data());
    hsize_t bytes = H5Tget_size(type.get());
    for (int i = 0; i < std::min(axes, most_axes); ++i) {
      if (sizes[static_cast<size_t>(i)] > largest_piece / std::max<hsize_t>(bytes, 1))
        refuse("the array " + tensors::quoted_name(array) + " is kept in pieces above 256 MiB");
      bytes *= sizes[static_cast<size_t>(i)];
    }
  }
  if (H5Dread(found.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
    fail(tried);
}

}  // namespace det::nn
