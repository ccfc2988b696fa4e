"""Each rule of tools/check-fast finds what it names, and nothing beside it."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "checks"))

import banned  # noqa: E402
import budgets  # noqa: E402
import dependencies  # noqa: E402
import doc_names  # noqa: E402
import include_edges  # noqa: E402
import paths  # noqa: E402
from cpp_source import SourceFile, repository_root, tracked_files  # noqa: E402


def messages(check, path: str, text: str) -> list[str]:
    return [str(finding) for finding in check([SourceFile(path, text)])]


def banned_in(path: str, text: str) -> list[str]:
    return messages(banned.check, path, text)


class Blanking(unittest.TestCase):
    def test_keeps_lines_and_columns(self):
        text = 'f("x // y", \'"\'); // g\n/* h\n */ i("j \\" k"); 1\'000'
        expected = 'f("      ", \' \');     \n    \n    i("      "); 1\'000'
        self.assertEqual(SourceFile("a.cpp", text).code, expected)

    def test_a_raw_string_hides_quotes_and_comments(self):
        code = SourceFile("a.cpp", 'auto a = R"x(" // " )" )x"; b();').code
        self.assertTrue(code.endswith("; b();"))
        self.assertNotIn("//", code)


class IncludeEdges(unittest.TestCase):
    def faults(self, path, header):
        return messages(include_edges.check, path, f"#pragma once\n#include {header}\n")

    def test_base_uses_nothing_of_ours(self):
        self.assertIn("base may not include", self.faults("src/rolter/base/a.h", '"rolter/config/config.h"')[0])

    def test_a_folder_uses_itself_and_what_the_table_says(self):
        self.assertEqual(self.faults("src/rolter/cluster/a.h", '"rolter/cluster/b.h"'), [])
        self.assertEqual(self.faults("src/rolter/cluster/a.h", '"rolter/config/config.h"'), [])

    def test_balance_sees_the_prompt_of_openai_and_no_more(self):
        self.assertEqual(self.faults("src/rolter/balance/a.h", '"rolter/openai/prompt.h"'), [])
        self.assertEqual(len(self.faults("src/rolter/balance/a.h", '"rolter/openai/request_view.h"')), 1)

    def test_the_core_includes_no_sockets_threads_or_files(self):
        for header in ("<boost/asio/io_context.hpp>", "<thread>", "<sys/socket.h>", "<zmq.hpp>",
                       "<openssl/ssl.h>", "<fstream>"):
            self.assertEqual(len(self.faults("src/rolter/kvcache/a.cpp", header)), 1, header)

    def test_heavy_headers_stay_out_of_headers_and_in_their_folder(self):
        self.assertEqual(self.faults("src/rolter/config/a.cpp", "<toml++/toml.h>"), [])
        self.assertEqual(len(self.faults("src/rolter/config/a.h", "<toml++/toml.h>")), 1)
        self.assertEqual(len(self.faults("src/rolter/proxy/a.cpp", "<boost/beast/http.hpp>")), 1)

    def test_a_folder_outside_the_table_and_a_relative_include_are_faults(self):
        self.assertEqual(len(self.faults("src/rolter/misc/a.h", "<vector>")), 1)
        self.assertEqual(len(self.faults("tests/unit/a.cpp", '"../b.h"')), 1)

    def test_cmake_links_follow_the_same_table(self):
        text = "rolter_library(kvcache SOURCES a.cpp LINK rolter_base rolter_http)"
        found = messages(include_edges.check, "src/rolter/kvcache/CMakeLists.txt", text)
        self.assertEqual(len(found), 1)
        self.assertIn("rolter_http", found[0])


class Banned(unittest.TestCase):
    def test_each_code_rule_finds_its_call(self):
        samples = {
            "clock": "auto t = std::chrono::steady_clock::now();",
            "entropy": "std::random_device device;",
            "environment": 'auto* home = std::getenv("HOME");',
            "threads": "std::thread worker(f);",
            "detach": "worker.detach();",
            "sleep": "std::this_thread::sleep_for(1s);",
            "regex": "std::regex expression;",
            "using-namespace-std": "using namespace std;",
            "c-parsing": "int a = atoi(text);",
            "c-strings": "sprintf(buffer, format);",
            "naked-new": "auto* a = new Foo();",
            "atomic-shared-ptr": "std::atomic<std::shared_ptr<int>> a;",
            "silent-catch": "try { f(); } catch (...) {\n}",
            "console": "std::cerr << 1;",
            "beast-streams": "boost::asio::any_io_executor executor;",
            "disabled-test": "TEST(A, DISABLED_b) {}",
        }
        self.assertEqual(set(samples), {rule.name for rule in banned.CODE_RULES})
        for name, text in samples.items():
            path = "tests/unit/a.cpp" if name == "disabled-test" else "src/rolter/http/a.cpp"
            found = banned_in(path, text)
            self.assertEqual(len(found), 1, (name, found))
            self.assertIn(f"banned ({name})", found[0])

    def test_comments_and_strings_are_not_code(self):
        self.assertEqual(banned_in("src/rolter/base/a.cpp", '// new Foo\nlog("std::thread x");'), [])

    def test_lookalikes_pass(self):
        text = ("Foo(const Foo&) = delete; auto b = clock.now(); using Clock = steady_clock;\n"
                "std::this_thread::get_id(); new (memory) Foo(); renew Foo;")
        self.assertEqual(banned_in("src/rolter/base/a.cpp", text), [])

    def test_runtime_may_read_the_clock_and_start_threads(self):
        text = "std::jthread a(f); auto t = std::chrono::steady_clock::now();"
        self.assertEqual(banned_in("src/rolter/runtime/a.cpp", text), [])

    def test_an_exception_needs_its_reason(self):
        call = "std::this_thread::sleep_for(1s);"
        self.assertEqual(banned_in("tests/a.cpp", f"// allowed(sleep): the limit itself\n{call}"), [])
        self.assertEqual(len(banned_in("tests/a.cpp", f"// allowed(sleep):\n{call}")), 1)
        self.assertEqual(len(banned_in("tests/a.cpp", f"// allowed(regex): no\n{call}")), 1)

    def test_text_rules(self):
        self.assertEqual(len(banned_in("docs/a.md", "TO" + "DO later")), 1)
        self.assertEqual(len(banned_in("src/a.cpp", "f();  // NOLINT")), 1)
        self.assertEqual(len(banned_in("src/a.cpp", "f();  // NOLINT(bugprone-x)")), 1)
        self.assertEqual(banned_in("src/a.cpp", "f();  // NOLINT(bugprone-x): the macro's"), [])
        self.assertEqual(len(banned_in("src/a/CMakeLists.txt", "file(GLOB x *.cpp)")), 1)


class Budgets(unittest.TestCase):
    def functions(self, text):
        return [(f.name, f.lines, f.parameters) for f in budgets.functions(SourceFile("a.cpp", text))]

    def test_finds_functions_methods_and_constructors(self):
        text = """
namespace a::b {
enum class E { kOne };
struct S : T<int()> {
 public:
  S(int a, std::map<int, int> b) : a_(a), b_{std::move(b)} {
    f();
  }
  bool operator==(const S&) const = default;
  bool operator<(const S& other) const { return a_ < other.a_; }
  alignas(64) std::atomic<int> n_{0};
};
constexpr std::array<int, 2> kTable{{1, 2}};
const auto kLambda = [](int x) { return x; };
template <typename T>
auto g(T t, int n = 3) -> Result<T> {
  if (n > 2) {
    return [&](int m) { return m; }(n);
  }
  return t;
}
}  // namespace a::b
TEST(Suite, fact) { EXPECT_TRUE(true); }
"""
        self.assertEqual(self.functions(text), [
            ("S", 3, 2), ("operator<", 1, 1), ("g", 7, 2), ("TEST", 1, 2)])

    def test_sizes_over_budget_are_found_and_at_budget_are_not(self):
        def found(path, text):
            return messages(budgets.check, path, text)

        body = "void f() {\n" + "g();\n" * 58 + "}\n"
        self.assertEqual(found("a.cpp", body), [])
        self.assertEqual(len(found("a.cpp", body.replace("{\n", "{\ng();\n", 1))), 1)
        self.assertEqual(found("a.cpp", "void f(int a, int b, int c, int d, int e, int g) {}"), [])
        self.assertEqual(len(found("a.cpp", "void f(int a, int b, int c, int d, int e, int g, int h) {}")), 1)
        self.assertEqual(found("a.h", "\n" * 300), [])
        self.assertEqual(len(found("a.h", "\n" * 301)), 1)
        self.assertEqual(found("a.cpp", "\n" * 400), [])
        self.assertEqual(len(found("tools/a.py", "\n" * 401)), 1)


class Paths(unittest.TestCase):
    def test_machine_paths_are_found_outside_of_words(self):
        self.assertEqual(len(messages(paths.check, "a.md", "see /wo" + "rk/x")), 1)
        self.assertEqual(len(messages(paths.check, "a.md", "`/ro" + "ot`")), 1)
        self.assertEqual(messages(paths.check, "a.md", "build/wo" + "rk/x and $TMP/wo" + "rk"), [])

    def test_temporary_paths_are_for_tests(self):
        self.assertEqual(len(messages(paths.check, "bench/a.py", "'/tm" + "p/x'")), 1)
        self.assertEqual(messages(paths.check, "tests/a.py", "'/tm" + "p/x'"), [])


class DocNames(unittest.TestCase):
    """Against the repository as it is, with one more page."""

    @classmethod
    def setUpClass(cls):
        cls.files = tracked_files(repository_root())

    def faults(self, text: str) -> list[str]:
        page = SourceFile("docs/operations/planted.md", text)
        return [finding.message for finding in doc_names.check([*self.files, page])]

    def test_what_exists_passes(self):
        self.assertEqual(self.faults(
            "`rolter_requests_total{route}`, rolter_request_ttft_ms_bucket, `[timeouts] heartbeat_secs`,\n"
            "`[[routes]]` `model`, `x-rolter-target`, `/admin/state`, `/v1/models/NAME`, `overload_abs`,\n"
            "`rolter check -c FILE --live`, `ask_usage = true`, rolter_alerts.yml\n\n"
            "    build/release/rolter serve -c rolter.toml | tee log --nothing\n\n"
            "```toml\n[[routes]]\nmodel = \"m\"\n[routes.weights]\nload = 2\n```\n"), [])

    def test_each_kind_of_wrong_name_is_found(self):
        for text, what in (
                ("a sentence with rolter_requests_totl", "the metric rolter_requests_totl"),
                ("`rolter_requests_totl{route}`", "the metric rolter_requests_totl"),
                ("`[timeouts] heartbeat_seconds`", "the key [timeouts] heartbeat_seconds"),
                ("`[queue]` `overload_abs`", "the key [queue] overload_abs"),
                ("`ask_usages = true`", "the key ask_usages"),
                ("`overload_absolute`", "the name overload_absolute"),
                ("`x-rolter-why`", "the field x-rolter-why"),
                ("`GET /admin/decide`", "the path /admin/decide"),
                ("    curl http://h:4000 /v1/chats/completions", "the path /v1/chats/completions"),
                ("`rolter chek -c FILE`", "the command rolter chek"),
                ("    rolter check -c rolter.toml --alive", "rolter check: the flag --alive"),
                ("```toml\n[[routes]]\nmodell = \"m\"\n```", "the key routes.modell"),
                ("```toml\n[retries]\nmax_retries = 1\n```", "the key retries")):
            self.assertIn(f"{what} does not exist", self.faults(text), text)


class Dependencies(unittest.TestCase):
    def found(self, packages, reasons):
        return [str(f) for f in dependencies.check([
            SourceFile(dependencies.PACKAGES, packages), SourceFile(dependencies.REASONS, reasons)])]

    def test_both_lists_name_the_same_packages(self):
        self.assertEqual(self.found("build a\n# c\n", "| `a` | because |\n"), [])
        self.assertEqual(len(self.found("build a\nbuild b\n", "| `a` | because |\n")), 1)
        self.assertEqual(len(self.found("build a\n", "| `a` | because |\n| `b` | x |\n")), 1)
        self.assertEqual(len(self.found("build a\n", "| `a` |  |\n")), 1)


if __name__ == "__main__":
    unittest.main()
