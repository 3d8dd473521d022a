"""tests/run.py must count the tests that ran, and must not pass when something died."""

import importlib.util
import subprocess
import sys
from pathlib import Path

RUN = Path(__file__).resolve().parents[2] / "run.py"
spec = importlib.util.spec_from_file_location("lanner_run_tests", RUN)
run = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = run
spec.loader.exec_module(run)


def fake_binary(build: Path, script: str) -> None:
    binary = build / "bin" / "lanner_tests"
    binary.parent.mkdir(parents=True)
    binary.write_text(f"#!{sys.executable}\nimport os, sys\n{script}")
    binary.chmod(0o755)


REPORT = """
print("a.cpp:1: Skipped", "no data", sep="\\n")
out = next(a for a in sys.argv if a.startswith("--gtest_output=json:")).split(":", 1)[1]
open(out, "w").write('''{"testsuites": [{"name": "A", "testsuite": [
  {"name": "good", "status": "RUN", "result": "COMPLETED"},
  {"name": "bad", "status": "RUN", "result": "COMPLETED", "failures": [{"failure": "x"}]},
  {"name": "off", "status": "NOTRUN", "result": "SUPPRESSED"},
  {"name": "later", "status": "RUN", "result": "SKIPPED", "skipped": [{"message": "x"}]}]}]}''')
"""


def test_gtest_report_is_counted(tmp_path):
    fake_binary(tmp_path, REPORT + "sys.exit(1)")
    outcome = run.run_gtest(tmp_path, ["lanner_tests"], "", shards=1)
    assert outcome.line() == "1 passed, 1 failed, 1 skipped"
    assert outcome.failures == ["A.bad"]
    assert outcome.reasons == {"no data": 1}
    assert outcome.exit_code() == 1


def test_shards_are_summed_and_each_runs_its_own_part(tmp_path):
    fake_binary(tmp_path, REPORT + "assert os.environ['GTEST_TOTAL_SHARDS'] == '3'\nsys.exit(int(os.environ['GTEST_SHARD_INDEX']) == 2)")
    outcome = run.run_gtest(tmp_path, ["lanner_tests"], "", shards=3)
    assert outcome.line() == "3 passed, 3 failed, 3 skipped"
    assert sorted(path.name for path in tmp_path.glob("*.json")) == [f"lanner_tests-{index}.json" for index in range(3)]


def test_a_crash_is_a_failure(tmp_path):
    fake_binary(tmp_path, "print('[ RUN      ] A.last', flush=True)\nos.kill(os.getpid(), 11)")
    outcome = run.run_gtest(tmp_path, ["lanner_tests"], "", shards=1)
    assert outcome.line() == "0 passed, 1 failed, 0 skipped"
    assert outcome.failures == ["lanner_tests died with SIGSEGV in A.last"]


def test_report_of_an_earlier_run_is_ignored(tmp_path):
    (tmp_path / "lanner_tests-0.json").write_text('{"testsuites": [{"name": "A", "testsuite": [{"name": "b", "result": "COMPLETED"}]}]}')
    fake_binary(tmp_path, "sys.exit(3)")
    assert run.run_gtest(tmp_path, ["lanner_tests"], "", shards=1).line() == "0 passed, 1 failed, 0 skipped"


def test_nothing_ran_is_not_success(tmp_path):
    assert run.run_gtest(tmp_path, ["lanner_tests"], "", shards=1).exit_code() == 2


def test_junit_report_is_counted(tmp_path):
    report = tmp_path / "pytest.xml"
    report.write_text(
        '<testsuites><testsuite><testcase classname="t" name="a"/>'
        '<testcase classname="t" name="b"><failure message="m"/></testcase>'
        '<testcase classname="t" name="c"><error message="m"/></testcase>'
        '<testcase classname="t" name="d"><skipped message="no clip"/></testcase></testsuite></testsuites>'
    )
    outcome = run.read_junit(report)
    assert outcome.line() == "1 passed, 2 failed, 1 skipped"
    assert outcome.reasons == {"no clip": 1}



def test_summary_is_the_last_line(tmp_path):
    done = subprocess.run(
        [sys.executable, str(RUN), "--build", str(tmp_path), "--cpp", "--filter", "no_such_test"],
        capture_output=True, text=True, check=False,
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (2, "0 passed, 0 failed, 0 skipped")
