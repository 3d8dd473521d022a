"""Help, completion and manual pages, generated from one table."""

import re
import shutil
import subprocess

import pytest

from command import BUILD, lanner, refuse, succeed

COMMANDS = ["run", "probe", "decode", "transcode", "build", "bench", "eval", "calibrate", "convert", "tf eval", "explain", "verify", "doctor", "completion", "manual"]


def options_of(command):
    """Every option in the help."""
    return set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", "\n".join(line for line in succeed(*command.split(), "--help-all").splitlines() if line.startswith("  -")))) - {"--then-"}


def test_without_arguments_help_is_printed():
    result = lanner()
    assert (result.returncode, result.stderr, result.stdout) == (0, "", succeed("--help"))


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_terminal(command):
    for flag in ("--help", "--help-all"):
        text = succeed(*command.split(), flag)
        head = text.split("\nExamples:\n", 1)[0]
        assert max(map(len, head.splitlines())) <= 100
    assert len(succeed(*command.split(), "--help").splitlines()) <= 48


def test_help_of_run_is_short_and_grouped():
    text = succeed("run", "--help")
    assert len(text.splitlines()) <= 45
    headings = re.findall(r"^(\S.*):$", text, re.MULTILINE)
    assert headings[0] == "Inputs and outputs" and len(headings) >= 5 and headings[-1] == "Examples"
    for option in ("-i", "-o", "--json", "--report", "--task", "--labels", "--preset", "--size", "--device", "--precision"):
        assert re.search(rf"^  {option}\b", text, re.MULTILINE), option
    assert "--help-all" in text and "--clips-at-once" not in text


def test_help_all_lists_the_remaining_options():
    short, whole = succeed("run", "--help"), succeed("run", "--help-all")
    count = int(re.search(r"^(\d+) more options", short, re.MULTILINE)[1])
    entries = [set(re.findall(r"^  (-\S+?)[, ]", text, re.MULTILINE)) for text in (short, whole)]
    assert entries[0] < entries[1]
    assert abs(len(entries[1] - entries[0]) - count) <= 2  # --help itself
    assert {"--clips-at-once", "--truth", "--pin", "--limit"} <= entries[1]


def test_no_option_is_lost_from_the_daily_help():
    """A layout's name without an option would otherwise go unnoticed."""
    for command in COMMANDS:
        assert "VALUE..." not in succeed(*command.split(), "--help")
    short = succeed("build", "--help")
    for option in ("--output", "--shape", "--precision", "--budget", "--device", "--threads"):
        assert option in short


def complete(*words):
    """bash's completions of the last of these words."""
    script = f'source <({BUILD}/bin/lanner completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _lanner; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-euc", script, "bash", "lanner", *words], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_bash_completes_commands_options_and_values():
    assert complete("pro") == ["probe"] and {command.split()[0] for command in COMMANDS} <= set(complete(""))
    assert complete("tf", "") == ["eval"] and complete("tf", "eval", "--nat") == ["--native"]
    assert complete("run", "m.onnx", "--prec") == ["--precision"]
    assert complete("run", "m.onnx", "--fit", "") == ["stretch", "letterbox", "crop", "corner"]
    assert complete("run", "m.onnx", "--then-fit", "le") == ["letterbox"]
    assert "semantic" in complete("run", "--task", "") and "imagenet" in complete("build", "--preset", "")
    assert complete("transcode", "--preset", "") == []  # There it is a value of the encoder's.
    assert complete("run", "--labels", "") == []  # Files, by the shell's default.


@pytest.mark.parametrize("shell, check", [("bash", ["-n"]), ("zsh", ["-n"]), ("fish", ["--no-execute"])])
def test_shell_parses_its_completion_script(shell, check, tmp_path):
    program = shutil.which(shell)
    if not program:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / f"lanner.{shell}"
    script.write_text(succeed("completion", shell))
    done = subprocess.run([program, *check, script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    script.write_text("if (\n")
    assert subprocess.run([program, *check, script], capture_output=True, timeout=60, check=False).returncode != 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_option(shell, tmp_path):
    text = succeed("completion", shell)
    for command in COMMANDS:
        for option in options_of(command):
            spelled = option if shell != "fish" else f" -l {option[2:]}" if option.startswith("--") else f" -s {option[1:]}"
            assert spelled in text, (command, option)
    if not shutil.which(shell):
        pytest.skip(f"no {shell} on PATH: its script is not parsed")
    (tmp_path / "script").write_text(text)
    subprocess.run([shell, "-n", tmp_path / "script"], check=True)


def test_unknown_shell_is_refused():
    assert "expected bash, zsh or fish" in refuse("completion", "tcsh")


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_manual_pages_have_every_option(command):
    word = command.replace(" ", "-") if command else None
    page = succeed("manual", *([word] if word else []))
    name = f"lanner-{word}" if word else "lanner"
    assert page.startswith(f'.TH {name.upper()} 1 "" "lanner ') and f".SH NAME\n{name.replace('-', chr(92) + '-')}" in page
    assert not any(re.match(r"[.'](?!TH|SH|SS|TP|PP|B |I |nf|fi)", line) for line in page.splitlines())
    plain = page.replace("\\-", "-")
    for option in options_of(command) if command else ["--help", "--version"]:
        assert f"\\fB{option}\\fR" in plain, option
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-man", "-Tascii", "-ww"], input=page, capture_output=True, text=True, check=True)
        assert done.stderr == "" and "SYNOPSIS" in re.sub(".\x08", "", done.stdout)


def test_manual_page_of_an_unknown_command_is_refused():
    assert "did you mean run?" in refuse("manual", "runn")


def test_completed_choices_are_accepted_by_the_command(tmp_path):
    """No completed word is refused by its option as an unknown name."""
    text = succeed("completion", "bash")
    offered = dict(re.findall(r"^    (run:--\w[\w-]*)\S*\) COMPREPLY=\(\$\(compgen -W \"([^\"]*)\"", text, re.MULTILINE))
    assert len(offered) >= 8
    for key, words in offered.items():
        option = key.split(":", 1)[1]
        wrong = lanner("run", "missing.onnx", "-i", "x.png", option, "nonsense").stderr
        for word in words.split():
            said = lanner("run", "missing.onnx", "-i", "x.png", option, word).stderr
            assert f"'{word}'" not in said or said == wrong.replace("nonsense", word), (option, word, said)
