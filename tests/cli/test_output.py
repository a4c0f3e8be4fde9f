"""What commands print: nothing in it steers the terminal of who reads it."""

import json

import pytest

from inkcap.cli.output import complain, print_json, say

HOSTILE = "\x1b]0;title\x07\x1b[2J\x9b31m\u202eabc\r\x00\x7f\u2028"


def test_what_steers_a_terminal_is_written_out(capsys: pytest.CaptureFixture[str]) -> None:
    say(f"class {HOSTILE}\tend\nnext")
    complain(HOSTILE)
    told = capsys.readouterr()
    assert told.out.startswith(
        "class \\u001b]0;title\\u0007\\u001b[2J\\u009b31m\\u202eabc\\u000d\\u0000\\u007f\\u2028\tend\n"
    )
    assert all(sign in "\n\t" or sign.isprintable() for sign in told.out + told.err)


def test_json_reads_back_equal(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({HOSTILE: [HOSTILE, "plain\\u001b"]})
    told = capsys.readouterr().out
    assert json.loads(told) == {HOSTILE: [HOSTILE, "plain\\u001b"]}
    assert all(sign == "\n" or sign.isprintable() for sign in told)
