"""Runs a command on a terminal and answers its question: answer.py ANSWER COMMAND...

Prints what the terminal shows and ends with the command's status. The answer is typed once the terminal shows `[y/N]`; a
command that asks nothing gets none.
"""

import os
import pty
import sys

QUESTION = b"[y/N]"


def main(answer, *command):
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    shown, is_answered = b"", False
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
        if QUESTION in shown and not is_answered:
            is_answered = True
            os.write(terminal, answer.encode() + b"\n")
    sys.stdout.buffer.write(shown)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
