#include "core/context/process/output.h"

#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdlib>
#include <future>
#include <string>
#include <thread>

#include "core/base/log/line_queue.h"
#include "core/context/process/log_line.h"
#include "tests/context/child_process.h"
#include "tests/expect_error.h"
#include "tests/patience.h"
#include "tests/temporary_directory.h"

namespace {

using namespace det;
using namespace det::context;
using test::run_in_child;

std::string lines_of(const std::vector<std::string> &parts) {
  LineCutter cutter;
  std::string lines;
  const auto take = [&](std::string_view line) { lines.append("<").append(line).append(">"); };
  for (const std::string &part : parts) cutter.add(part, take);
  cutter.finish(take);
  return lines;
}

void lines_are_cut_wherever_the_bytes_are(void **) {
  assert_string_equal(lines_of({"a\nb", "c\n\n", "d\r", "\ne\rf\n", "\r\n", "last"}).c_str(),
                      "<a><bc><><d><f><><last>");
  // Of a progress bar its last state, wherever the bytes are cut.
  assert_string_equal(lines_of({"\r 10%\r", " 20%", "\r 30%", "\n"}).c_str(), "< 30%>");
  assert_string_equal(lines_of({"10%\r20%\r", "30%\r"}).c_str(), "<30%>");
  std::string bar = "\r";
  while (bar.size() < 3 * LineCutter::longest) bar += "|||||\r";
  assert_string_equal(lines_of({bar, bar + "done", "\n"}).c_str(), "<done>");
  assert_string_equal(lines_of({""}).c_str(), "");
}

void overlong_lines_come_in_parts(void **) {
  const size_t longest = LineCutter::longest;
  const std::string exact(longest, 'x');
  assert_string_equal(lines_of({exact + "\n"}).c_str(), ("<" + exact + ">").c_str());
  assert_string_equal(lines_of({exact, "y\nz\n"}).c_str(), ("<" + exact + "><y><z>").c_str());
  // No character is cut in two.
  const std::string almost(longest - 2, 'x');
  assert_string_equal(lines_of({almost + "\u20ac\n"}).c_str(),
                      ("<" + almost + "><\u20ac>").c_str());
  const std::string enough(longest - 3, 'x');
  assert_string_equal(lines_of({enough + "\u20acy\n"}).c_str(),
                      ("<" + enough + "\u20ac><y>").c_str());
}

void level_is_what_the_line_begins_with(void **) {
  const auto is = [](const char *line, LogLevel level) {
    assert_int_equal(static_cast<int>(level_of(line)), static_cast<int>(level));
  };
  is("DEBUG: [7] trainer: text", LogLevel::debug);
  is("TRACE: text", LogLevel::debug);
  is("[rank=12] WARNING: text", LogLevel::warning);
  is("ERROR:", LogLevel::error);
  is("CRITICAL: text", LogLevel::error);
  for (const char *line :
       {"INFO: text", "text", "", "ERROR", "error: text", "ERRORS: text", " ERROR: text",
        "[rank=] ERROR: text", "[rank=1]ERROR: text", "[rank=1", "[rank=x] ERROR: text"})
    is(line, LogLevel::info);
}

void lines_that_find_no_room_are_counted(void **) {
  LineQueue queue{"", "were left out"};
  const std::string line(LineCutter::longest, 'x');
  const size_t sent = 2 * LineQueue::limit / line.size();
  for (size_t i = 0; i < sent; ++i) queue.push(LogLevel::info, line);
  queue.end();
  size_t came = 0;
  std::string last;
  queue.drain([&](LogLevel, std::string_view text) {
    came += text == line;
    last = text;
  });
  assert_in_range(came, sent / 2 - 1, sent / 2);
  assert_true(contains(last, std::to_string(sent - came) + " lines were left out"));
}

// With what the child process writes. Its lines come back as "1 text\n", with the level.
class CapturingProcess {
 public:
  template <class Body>
  int run(Body body) const {
    return run_in_child(directory_.path(), body);
  }
  OutputCapture::Sink sink() const {
    return [this](LogLevel level, std::string_view line) {
      const Fd file = open_file(directory_ / "lines", O_WRONLY | O_CREAT | O_APPEND);
      write_all(file.get(), std::to_string(static_cast<int>(level)).append(" ").append(line) + "\n",
                "lines");
    };
  }
  std::string text(const char *name) const { return read_file(directory_ / name); }
  std::filesystem::path operator/(const char *name) const { return directory_ / name; }

 private:
  TemporaryDirectory directory_;
};

void say(const std::string &text, int fd = STDOUT_FILENO) { write_all(fd, text, "output"); }

void all_that_the_process_writes_is_copied_and_passes(void **) {
  const CapturingProcess home;
  const int status = home.run([&] {
    printf("before\n");
    OutputCapture capture(home.sink());
    printf("by stdio\n");
    fflush(stdout);
    say("by write\n");
    if (system("echo by a child; echo ERROR: by a child >&2") != 0) return 1;
    printf("WARNING: last");
    capture.stop();
    say("\nafter\n");
    return 0;
  });
  assert_int_equal(status, 0);
  assert_string_equal(home.text("out").c_str(),
                      "before\nby stdio\nby write\nby a child\nWARNING: last\nafter\n");
  assert_string_equal(home.text("err").c_str(), "ERROR: by a child\n");
  std::string lines = home.text("lines");
  const std::string error = "3 ERROR: by a child\n";  // the streams have no order among them
  assert_true(contains(lines, error));
  lines.erase(lines.find(error), error.size());
  assert_string_equal(lines.c_str(), "1 by stdio\n1 by write\n1 by a child\n2 WARNING: last\n");
}

void much_output_arrives_whole(void **) {
  const CapturingProcess home;
  std::string text;
  for (int i = 0; i < 40'000; ++i) text += "line " + std::to_string(i) + "\n";
  const int status = home.run([&] {
    std::string lines;
    {
      OutputCapture capture([&](LogLevel, std::string_view line) { lines.append(line) += '\n'; });
      say(text);
    }
    return lines == text ? 0 : 1;
  });
  assert_int_equal(status, 0);
  assert_equal(home.text("out"), text);
}

void sink_that_blocks_does_not_hold_up_the_output(void **) {
  const CapturingProcess home;
  const int status = home.run([&] {
    std::promise<void> seen;
    std::atomic<int> lines = 0;
    OutputCapture capture([&, until = seen.get_future().share()](LogLevel, std::string_view) {
      until.wait();
      ++lines;
    });
    const std::string text(300'000, '\n');
    say(text);
    while (home.text("out") != text) usleep(1000);
    const int before = lines.load();
    seen.set_value();
    capture.stop();
    return before == 0 && lines > 0 ? 0 : 1;
  });
  assert_int_equal(status, 0);
}

void sink_that_throws_gets_the_next_line(void **) {
  const CapturingProcess home;
  const int status = home.run([&] {
    std::string lines;
    OutputCapture capture([&](LogLevel, std::string_view line) {
      lines += line;
      throw Error(Code::io, "no");
    });
    say("a\nb\n");
    capture.stop();
    return lines == "ab" ? 0 : 1;
  });
  assert_int_equal(status, 0);
  assert_string_equal(home.text("out").c_str(), "a\nb\n");
}

void one_at_a_time_captures_a_process(void **) {
  const CapturingProcess home;
  const int status = home.run([&] {
    OutputCapture capture(home.sink());
    try {
      const OutputCapture other(home.sink());
      return 1;
    } catch (const Error &error) {
      if (error.code != Code::state) return 2;
    }
    capture.stop();
    capture.stop();
    const OutputCapture next(home.sink());
    say("text\n");
    return 0;
  });
  assert_int_equal(status, 0);
  assert_string_equal(home.text("lines").c_str(), "1 text\n");
}

void forked_child_writes_through_its_parent(void **) {
  const CapturingProcess home;
  const int status = home.run([&] {
    auto capture = std::make_unique<OutputCapture>(home.sink());
    const pid_t child = fork();
    if (child == 0) {
      say("child\n");
      capture.reset();
      say("child again\n");
      _exit(0);
    }
    int ended = -1;
    waitpid(child, &ended, 0);
    say("parent\n");
    capture.reset();
    return ended;
  });
  assert_int_equal(status, 0);
  assert_string_equal(home.text("out").c_str(), "child\nchild again\nparent\n");
  assert_string_equal(home.text("lines").c_str(), "1 child\n1 child again\n1 parent\n");
}

void child_that_goes_on_after_the_end_is_not_cut_off(void **) {
  const CapturingProcess home;
  const int status = home.run([&] {
    int go[2];
    if (pipe2(go, O_CLOEXEC) != 0) return 1;
    OutputCapture capture(home.sink());
    const pid_t child = fork();
    if (child == 0) {
      char byte;
      say("early\n");
      if (read(go[0], &byte, 1) != 1) _exit(1);
      for (int i = 0; i < 100'000; ++i) say("late\n");
      _exit(0);
    }
    while (!std::filesystem::exists(home / "lines")) usleep(1000);
    capture.stop();
    say("parent\n");
    if (write(go[1], "x", 1) != 1) return 2;
    int ended = -1;
    waitpid(child, &ended, 0);
    while (home.text("out").size() < 13 + 500'000) usleep(1000);
    return ended;
  });
  assert_int_equal(status, 0);
  std::string late;
  for (int i = 0; i < 100'000; ++i) late += "late\n";
  assert_equal(home.text("out"), "early\nparent\n" + late);
  assert_string_equal(home.text("lines").c_str(), "1 early\n");
}

void orphan_is_not_left_waiting(void **) {
  const CapturingProcess home;
  const int status = home.run([&] {
    const OutputCapture capture(home.sink());
    const pid_t child = fork();
    if (child == 0) {
      signal(SIGPIPE, SIG_IGN);
      while (write(STDOUT_FILENO, "text\n", 5) == 5) continue;
      write_file_durably(home / "orphan", "ended");
    }
    _exit(0);
    return 0;
  });
  assert_int_equal(status, 0);
  for (int i = 0; i < TEST_PATIENCE_MS / 10 && !std::filesystem::exists(home / "orphan"); ++i)
    usleep(10'000);
  assert_true(std::filesystem::exists(home / "orphan"));
}

void reader_that_leaves_ends_the_writer_as_ever(void **) {
  const CapturingProcess home;
  const int status = home.run([&] {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return 1;
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    const OutputCapture capture(home.sink());
    for (;;) say("text\n");
    return 2;
  });
  assert_true(WIFSIGNALED(status));
  assert_int_equal(WTERMSIG(status), SIGPIPE);
}

void closed_output_is_copied(void **) {
  for (const int also : {-1, STDIN_FILENO, STDERR_FILENO}) {
    const CapturingProcess home;
    const int status = home.run([&] {
      if (also >= 0) close(also);
      close(STDOUT_FILENO);
      OutputCapture capture(home.sink());
      say("text\n");
      capture.stop();
      say("after\n");
      return 0;
    });
    assert_int_equal(status, 0);
    assert_string_equal(home.text("lines").c_str(), "1 text\n");
  }
}

void output_that_the_program_redirects_stays_so(void **) {
  const CapturingProcess home;
  const int status = home.run([&] {
    OutputCapture capture(home.sink());
    say("before\n");
    dup2(open_file(home / "other", O_WRONLY | O_CREAT).get(), STDOUT_FILENO);
    say("meanwhile\n");
    capture.stop();
    say("after\n");
    return 0;
  });
  assert_int_equal(status, 0);
  assert_string_equal(home.text("out").c_str(), "before\n");
  assert_string_equal(home.text("other").c_str(), "meanwhile\nafter\n");
  assert_string_equal(home.text("lines").c_str(), "1 before\n");
}

}  // namespace

int test_output() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(lines_are_cut_wherever_the_bytes_are),
      cmocka_unit_test(overlong_lines_come_in_parts),
      cmocka_unit_test(level_is_what_the_line_begins_with),
      cmocka_unit_test(lines_that_find_no_room_are_counted),
      cmocka_unit_test(all_that_the_process_writes_is_copied_and_passes),
      cmocka_unit_test(much_output_arrives_whole),
      cmocka_unit_test(sink_that_blocks_does_not_hold_up_the_output),
      cmocka_unit_test(sink_that_throws_gets_the_next_line),
      cmocka_unit_test(one_at_a_time_captures_a_process),
      cmocka_unit_test(forked_child_writes_through_its_parent),
      cmocka_unit_test(child_that_goes_on_after_the_end_is_not_cut_off),
      cmocka_unit_test(orphan_is_not_left_waiting),
      cmocka_unit_test(reader_that_leaves_ends_the_writer_as_ever),
      cmocka_unit_test(closed_output_is_copied),
      cmocka_unit_test(output_that_the_program_redirects_stays_so),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
