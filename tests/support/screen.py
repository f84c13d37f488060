"""What a command leaves on a terminal of a given size: screen.py COLUMNS ROWS COMMAND...

Prints the screen as it is when the command has ended, scrolled lines included, and ends with the command's status. Colours
are left out. It knows the few control sequences that progress displays use, and refuses to guess at others.
"""

import fcntl
import os
import pty
import re
import struct
import sys
import termios

SEQUENCE = re.compile(rb"\x1b(?:\[([?0-9;]*)([A-Za-z])|[78=>])")


def run(columns, rows, command):
    """The bytes that a command writes to a terminal, and its status."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    written = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        written += piece
    return written, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class Screen:
    def __init__(self, columns):
        self.columns, self.lines, self.row, self.column = columns, [[]], 0, 0

    def put(self, character):
        if self.column == self.columns:
            self.row, self.column = self.row + 1, 0
        self.reach()
        line = self.lines[self.row]
        line.extend(" " * (self.column + 1 - len(line)))
        line[self.column] = character
        self.column += 1

    def reach(self):
        while self.row >= len(self.lines):
            self.lines.append([])

    def control(self, numbers, kind):
        if kind in ("m", "h", "l"):
            return
        number = int(numbers or 1)
        if kind == "A":
            self.row = max(0, self.row - number)
        elif kind == "B":
            self.row += number
            self.reach()
        elif kind == "C":
            self.column = min(self.columns - 1, self.column + number)
        elif kind == "D":
            self.column = max(0, self.column - number)
        elif kind == "G":
            self.column = max(0, number - 1)
        elif kind == "K":
            self.reach()
            del self.lines[self.row][self.column if numbers in ("", "0") else 0 :]
        elif kind == "J":
            self.reach()
            del self.lines[self.row][self.column :]
            del self.lines[self.row + 1 :]
        else:
            sys.exit(f"screen.py: sequence {numbers}{kind} is not known")

    def write(self, written):
        at = 0
        while at < len(written):
            match = SEQUENCE.match(written, at)
            if match:
                if match.group(2):
                    self.control(match.group(1).decode(), match.group(2).decode())
                at = match.end()
                continue
            byte = written[at : at + 1]
            if byte == b"\r":
                self.column = 0
            elif byte == b"\n":
                self.row += 1
                self.reach()
            elif byte[0] >= 0x20:
                length = 1 if byte[0] < 0x80 else 2 if byte[0] < 0xE0 else 3 if byte[0] < 0xF0 else 4
                self.put(written[at : at + length].decode("utf-8", "replace"))
                at += length - 1
            at += 1


written, status = run(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
screen = Screen(int(sys.argv[1]))
screen.write(written)
print("\n".join("".join(line).rstrip() for line in screen.lines).rstrip())
sys.exit(status)
