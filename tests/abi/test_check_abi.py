"""What check_abi.py takes for a break: test_check_abi.py COMPILER HEADER_FOLDER VERSION_SCRIPT"""

import pathlib
import shutil
import sys
import tempfile
import types
import unittest

import check_abi

COMPILER, HEADERS, SCRIPT = sys.argv[1:4]
del sys.argv[1:]


class CheckAbi(unittest.TestCase):
    def told(self, header, before, after):
        """What is said of headers that are as they are but for this."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            changed = shutil.copytree(HEADERS, root / "include/det")
            text = (changed / f"{header}.h").read_text()
            self.assertEqual(text.count(before), 1, before)
            (changed / f"{header}.h").write_text(text.replace(before, after))
            libraries = []
            for name, headers in ("old", pathlib.Path(HEADERS)), ("new", changed):
                (root / name).mkdir()
                names = [file.stem for file in headers.glob("*.h") if file.stem != "mpi"]
                options = types.SimpleNamespace(compiler=COMPILER, headers=headers, include=[], names=names,
                                                script=pathlib.Path(SCRIPT), soname="libdetcore.so.0")
                libraries.append(check_abi.library(options, root / name))
            return check_abi.differences(*libraries)

    def test_same_headers_are_no_change(self):
        self.assertEqual(self.told("train", "DET_END_DECLS", "DET_END_DECLS"), "")

    def test_a_member_in_the_middle_of_options_is_a_break(self):
        told = self.told("client", "  int32_t descending;", "  void *added;\n  int32_t descending;")
        self.assertIn("insertion", told)

    def test_a_member_at_the_end_of_options_is_none(self):
        self.assertEqual(self.told("client", "} det_client_page;", "  void *added;\n} det_client_page;"), "")

    def test_a_member_at_the_end_of_a_metric_is_a_break(self):
        self.assertIn("insertion", self.told("train", "} det_metric;", "  void *added;\n} det_metric;"))

    def test_a_removed_function_is_a_break(self):
        told = self.told("base", "DET_API const char *det_version_string(void) DET_NOEXCEPT;", "")
        self.assertIn("det_version_string", told)

    def test_another_type_of_a_parameter_is_a_break(self):
        self.assertIn("det_free", self.told("base", "det_free(void *memory)", "det_free(int memory)"))

    def test_another_type_of_an_answer_is_a_break(self):
        self.assertIn("det_version", self.told("base", "uint32_t det_version(void)", "uint64_t det_version(void)"))


if not shutil.which("abidiff"):
    print("skipped: there is no abidiff (Debian: abigail-tools)")
    sys.exit(77)
unittest.main()
