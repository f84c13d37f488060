"""Runs a command on a terminal whose question somebody else answers: answer.py COMMAND...

Prints what the terminal shows and ends with the command's status. Once the terminal shows `[y/N]`, a line of standard input
is typed there. A command that asks nothing is told nothing.
"""

import os
import pty
import sys

QUESTION = b"[y/N]"


def main(*command):
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
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        shown += piece
        if QUESTION in shown and not is_answered:
            is_answered = True
            os.write(terminal, sys.stdin.buffer.readline())
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
